# SPDX-License-Identifier: Apache-2.0
"""Finds the single mutations of a C file that is formatted with the tree's .clang-format.

A binary operator has spaces around it there, which distinguishes it from a unary one without a parser of types.

Seven things are not mutated, because no test can be expected to notice:
1. comments, texts, preprocessor lines other than the value of a #define, and log messages;
2. a branch that runs only when an allocation fails: the body of an `if` whose condition is a failed allocation, one
   that mentions ENOMEM or counts what was out of memory, and what follows a label that only such branches jump to, or a
   successful allocation that returns;
3. the deletion of a call that initialises, destroys, takes or releases a lock: ThreadSanitizer reports these;
4. hints to the processor: prefetches;
5. what functions named *_hash and hash_* compute: any function of the same key is right, only speed differs;
6. numbers without a value of their own: the 0 of the initializer { 0 }, and a 1 of "? -1 : 1" is not made a 2;
7. < and > of a minimum or maximum, "a < b ? a : b" or "if (a < b) b = a;", are not made <= and >=: of two equal values
   either is the result.
"""
import collections
import re

# Offsets of what text replaces; function: the name of the function, or of the macro, that contains it.
Mutation = collections.namedtuple('Mutation', 'line kind begin end text function')

TOKEN = re.compile(r'''
    (?P<comment>/\*.*?\*/|//[^\n]*) | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*') | (?P<name>[A-Za-z_]\w*) | (?P<number>\.?\d(?:[eE][+-]|[\w.])*)
  | (?P<operator><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
''', re.VERBOSE | re.DOTALL | re.MULTILINE)
DEFINE = re.compile(r'[ \t]*#define (\w+) (?=[^ ])')

REPLACEMENTS = {
    'comparison': {'<': ['<='], '<=': ['<'], '>': ['>='], '>=': ['>'], '==': ['!='], '!=': ['==']},
    'arithmetic': {'+': ['-'], '-': ['+'], '*': ['+'], '/': ['*'], '%': ['/'], '&': ['|'], '|': ['&'], '^': ['|'],
                   '<<': ['>>'], '>>': ['<<'], '&&': ['||'], '||': ['&&'], '+=': ['-='], '-=': ['+='], '*=': ['+='],
                   '/=': ['*='], '%=': ['/='], '|=': ['&='], '&=': ['|='], '<<=': ['>>='], '>>=': ['<<='],
                   '++': ['--'], '--': ['++']},
}
# Those that may be unary, and are binary between spaces.
AMBIGUOUS = {'+', '-', '*', '&'}
OPERAND = r'(?:\w|\.|->|\[|\])+'
LEFT = re.compile(rf'({OPERAND})\s*$')
CHOICE = re.compile(rf'\s*({OPERAND})\s*\?\s*({OPERAND})\s*:\s*({OPERAND})\s*[;,)}}]')
ASSIGNMENT = re.compile(rf'\s*({OPERAND})\)\s*({OPERAND}) = ({OPERAND});')
NUMBER = re.compile(r'(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$')

# Of the core's own functions those that fail for no other reason.
ALLOCATION = r'(?:malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|array_(?:push|reserve|take|grow)' \
             r'|hash_index_add|hash_index_push|keyed_array_add|arena_\w+|\w+_new|memory_ranges_build|space_rebuild|frame_table_add(?:_stack)?|track_find' \
             r'|entry_for|balance_for|owner_for)'
FAILED_ALLOCATION = re.compile(rf'!\s*{ALLOCATION}\s*\(|POSITION_NONE')
ALLOCATED = re.compile(rf'((?:\w|->|\.)+(?:\[[^][]*\])?)\s*=\s*(?:\([^()]*\)\s*)?{ALLOCATION}\s*\(')
COUNTED_MEMORY = re.compile(r'\bENOMEM\b|out_of_memory\b')
SUCCESS = re.compile(rf'{ALLOCATION}\s*\((?:[^()]|\([^()]*\))*\)$')
HASH_NAME = re.compile(r'(?:\w+_)?hash$|hash_\w+$')
LOCK_CALL = re.compile(r'(?:pthread_(?:mutex|cond|condattr|mutexattr)_(?:init|destroy|lock|unlock)|mtx_\w+)\s*\(')
UNSEEN_CALL = re.compile(r'\blog_\w+\s*\(|__builtin_prefetch|\w*prefetch\w*\s*\(')
KEYWORDS_OF_DECLARATIONS = {'struct', 'const', 'static', 'unsigned', 'int', 'char', 'bool', 'enum', 'union', 'long',
                            'double', 'goto', 'else', 'return', 'typedef', '_Static_assert', 'static_assert'}


class Token:
    __slots__ = ('kind', 'text', 'begin', 'end')

    def __init__(self, match):
        self.kind, self.text, self.begin, self.end = match.lastgroup, match[0], match.start(), match.end()


class Node:
    """A statement: the tokens [begin, end), those of its condition, and the statements in it."""

    def __init__(self, kind, begin):
        self.kind, self.begin, self.end = kind, begin, begin
        self.condition = None
        self.children = []


class File:
    def __init__(self, text):
        self.text = text
        tokens = [Token(match) for match in TOKEN.finditer(text)]
        self.directives = [token for token in tokens if token.kind == 'directive']
        self.tokens = [token for token in tokens if token.kind not in ('comment', 'directive')]
        self.found = []
        self.function = None

    # Statements

    def closing(self, i):
        """The position behind the bracket that closes the one at i."""
        depth = 0
        while True:
            depth += (self.tokens[i].text in ('(', '[', '{')) - (self.tokens[i].text in (')', ']', '}'))
            i += 1
            if not depth:
                return i

    def opening(self, i):
        """The position of the bracket that the one at i closes."""
        depth = 0
        while True:
            depth += (self.tokens[i].text in (')', ']', '}')) - (self.tokens[i].text in ('(', '[', '{'))
            if not depth:
                return i
            i -= 1

    def statement(self, i):
        first, following = self.tokens[i].text, self.tokens[i + 1].text
        node = Node(first, i)
        if first == '{':
            i += 1
            while self.tokens[i].text != '}':
                node.children.append(self.statement(i))
                i = node.children[-1].end
            node.end = i + 1
        elif first in ('if', 'while', 'for', 'switch'):
            after = self.closing(i + 1)
            node.condition = (i + 2, after - 1)
            node.children.append(self.statement(after))
            node.end = node.children[0].end
            if first == 'if' and self.tokens[node.end].text == 'else':
                node.children.append(self.statement(node.end + 1))
                node.end = node.children[1].end
        elif first == 'do':
            node.children.append(self.statement(i + 1))
            i = node.children[0].end
            after = self.closing(i + 1)
            node.condition = (i + 2, after - 1)
            node.end = after + 1
        elif first in ('case', 'default') or (self.tokens[i].kind == 'name' and following == ':'):
            node.kind = 'label'
            while self.tokens[i].text != ':':
                i += 1
            node.end = i + 1
        else:
            node.kind = 'expression'
            while self.tokens[i].text != ';':
                i = self.closing(i) if self.tokens[i].text in ('(', '[', '{') else i + 1
            node.end = i + 1
        return node

    def functions(self):
        i = 0
        while i < len(self.tokens):
            token = self.tokens[i]
            if token.text == '{' and i and self.tokens[i - 1].text == ')':
                body = self.statement(i)
                self.function = self.tokens[self.opening(i - 1) - 1].text
                if not HASH_NAME.match(self.function):
                    yield body
                i = body.end
            elif token.text in ('(', '[', '{'):
                i = self.closing(i)
            else:
                i += 1

    def source(self, begin, end):
        return self.text[self.tokens[begin].begin:self.tokens[end - 1].end] if begin < end else ''

    # Exclusions

    def fails_to_allocate(self, condition, allocated):
        if FAILED_ALLOCATION.search(condition):
            return True
        parts = [part.strip().strip('()') for part in condition.split('||')]
        return all((part.startswith('!') and part[1:] in allocated) or
                   (part.endswith(' == FRAME_NONE') and part.split()[0] in allocated) for part in parts)

    def returns_when_allocated(self, node):
        """Whether what follows a statement is reached only when an allocation fails."""
        return node.kind == 'if' and len(node.children) == 1 and \
            self.source(node.children[0].begin, node.children[0].end) == 'return true;' and \
            bool(SUCCESS.match(self.source(*node.condition)))

    def excluded(self, body):
        """The nodes of a function that are not mutated."""
        allocated = set(ALLOCATED.findall(self.source(body.begin, body.end)))
        nodes, jumps = set(), collections.defaultdict(list)

        def visit(node, is_excluded):
            if node.kind == 'expression':
                source = self.source(node.begin, node.end)
                is_excluded |= bool(UNSEEN_CALL.search(source) or COUNTED_MEMORY.search(source))
                if source.startswith('goto '):
                    jumps[source[5:-1].strip()].append(is_excluded)
            if is_excluded:
                nodes.add(node)
            for number, child in enumerate(node.children):
                out_of_memory = node.kind == 'if' and not number and (
                    self.fails_to_allocate(self.source(*node.condition), allocated)
                    or COUNTED_MEMORY.search(self.source(child.begin, child.end)))
                visit(child, is_excluded or bool(out_of_memory))
                is_excluded |= self.returns_when_allocated(child)

        visit(body, False)
        is_after = False
        for node in body.children:
            if node.kind == 'label':
                label = self.tokens[node.begin].text
                is_after = bool(jumps.get(label)) and all(jumps[label])
            elif is_after:
                visit(node, True)
        return nodes

    # Mutations

    def add(self, kind, begin, end, text):
        self.found.append(Mutation(self.text.count('\n', 0, begin) + 1, kind, begin, end, text, self.function))

    def is_binary(self, token):
        return self.text[token.begin - 1].isspace() and self.text[token.end].isspace()

    def is_extreme(self, token):
        """Whether an operator compares two values of which one is chosen."""
        left = LEFT.search(self.text, max(0, token.begin - 80), token.begin)
        choice = CHOICE.match(self.text, token.end)
        if not choice and left and self.text[:left.start()].endswith('if ('):
            choice = ASSIGNMENT.match(self.text, token.end)
        return bool(left and choice) and {left[1], choice[1]} == {choice[2], choice[3]} and left[1] != choice[1]

    def add_of_number(self, token, base=0):
        match = NUMBER.match(token.text)
        before, after = self.text[:base + token.begin][-9:], self.text[base + token.end:base + token.end + 6]
        if before.endswith('{ ') and after.startswith(' }') and token.text == '0':
            return
        is_sign = re.search(r'\? -$|\? -?1 : -?$', before) and token.text == '1'
        if match:
            digits = match[1]
            value = int(digits, 0) if not re.match(r'0\d', digits) else int(digits, 8)
            for other in sorted(({0} if is_sign else {value + 1, 0}) - {value}):
                text = hex(other) if digits[:2] in ('0x', '0X') else str(other)
                self.add('constant', base + token.begin, base + token.end, text + match[2])

    def add_of_tokens(self, begin, end):
        for token in self.tokens[begin:end]:
            if token.kind == 'number':
                self.add_of_number(token)
            elif token.text in ('true', 'false'):
                self.add('constant', token.begin, token.end, 'false' if token.text == 'true' else 'true')
            elif token.kind == 'operator' and (token.text not in AMBIGUOUS or self.is_binary(token)):
                for kind, operators in REPLACEMENTS.items():
                    if token.text in ('<', '<=', '>', '>=') and self.is_extreme(token):
                        continue
                    for other in operators.get(token.text, []):
                        self.add(kind, token.begin, token.end, other)

    def is_deletable(self, node):
        first, following = self.tokens[node.begin], self.tokens[node.begin + 1]
        source = self.source(node.begin, node.end)
        if source in ('return;', 'break;', 'continue;'):
            return True
        if first.text in KEYWORDS_OF_DECLARATIONS or LOCK_CALL.match(source) or source == ';':
            return False
        if first.kind == 'name' and (following.kind == 'name' or following.text == '*'):
            return False # a declaration
        return True

    def add_of_condition(self, node):
        begin, end = node.condition
        if node.kind == 'for':
            parts = [i for i in range(begin, end) if self.tokens[i].text == ';']
            begin, end = parts[0] + 1, parts[1]
        if begin < end and node.kind != 'switch':
            first, last = self.tokens[begin].begin, self.tokens[end - 1].end
            self.add('negation', first, last, '!(' + self.text[first:last] + ')')

    def mutate(self, node, excluded):
        if node in excluded:
            return
        if node.condition:
            self.add_of_tokens(*node.condition)
            self.add_of_condition(node)
        elif node.kind == 'expression':
            self.add_of_tokens(node.begin, node.end)
            if self.is_deletable(node):
                self.add('deletion', self.tokens[node.begin].begin, self.tokens[node.end - 1].end - 1, '')
        for child in node.children:
            self.mutate(child, excluded)

    def mutations(self):
        for directive in self.directives:
            define = DEFINE.match(directive.text)
            if define and '(' not in define[0]:
                self.function = define[1]
                for match in TOKEN.finditer(directive.text, define.end()):
                    if match.lastgroup == 'number':
                        self.add_of_number(Token(match), directive.begin)
        for body in self.functions():
            self.mutate(body, self.excluded(body))
        return sorted(set(self.found))


def mutations(text):
    """All single mutations of a C file."""
    return File(text).mutations()


def apply(text, mutation):
    return text[:mutation.begin] + mutation.text + text[mutation.end:]
