// Stall reasons: labels and explanations by class (enum iaprof_stall_class), from the profile. Their order and colours
// are always the same. The last one, issuing, is not a stall.

const ISSUING = 9, OTHER_REASON = 8;
const REASONS = Array.from({ length: ISSUING + 1 }, () => ({ label: '', phrase: '', ends: '', text: '', remedy: '', names: [] }));
const reasonSlots = new Map();

// By class of kernels.
let classRemedies = new Map();

// What to try against a stall in a kernel of a class, as in lib/stacks/stall_class.c: a copy that waits for memory or its
// queue, the first two slots, is better avoided, and a collective waits for other ranks.
const remedyOf = (slot, kernelClass) => ((slot < 2 || kernelClass === 'collective') && remedyOfClass(kernelClass)) || REASONS[slot].remedy;
const remedyOfClass = kernelClass => classRemedies.get(kernelClass) || '';

// classes: [label, phrase, ends, text, remedy] each; copy, collective: remedies; names: [hardware name, class] of the
// profile's reasons
function setReasons({ classes, copy, collective, names }) {
  classRemedies = new Map([['copy', copy], ['collective', collective]]);
  classes.forEach(([label, phrase, ends, text, remedy], slot) =>
    Object.assign(REASONS[slot], { label, phrase, ends, text, remedy, names: [] }));
  reasonSlots.clear();
  for (const [name, stallClass] of names) {
    reasonSlots.set(name, stallClass - 1);
    REASONS[stallClass - 1].names.push(name);
  }
  for (const reason of REASONS)
    if (!reason.names.length)
      reason.names.push(reason.label.toLowerCase());
}

// The slot of a stall reason by its hardware name. Unknown names have the slot of other reasons.
const slotOf = name => reasonSlots.has(name) ? reasonSlots.get(name) : OTHER_REASON;
