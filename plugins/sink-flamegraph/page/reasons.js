// Stall reasons: what they are called and what they mean, by class (enum iaprof_stall_class), as the profile says. They
// always appear in this order and in these colours. The last one is no stall.

const ISSUING = 9, OTHER_REASON = 8;
const REASONS = Array.from({ length: ISSUING + 1 }, () => ({ label: '', phrase: '', ends: '', text: '', remedy: '', names: [] }));
const reasonSlots = new Map();

// classes: [label, phrase, ends, text, remedy] each; names: [hardware name, class] of the profile's reasons
function setReasons({ classes, names }) {
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

// The slot of a reason by its hardware name. Names that are not known are other reasons.
const slotOf = name => reasonSlots.has(name) ? reasonSlots.get(name) : OTHER_REASON;
