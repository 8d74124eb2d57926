import { isPlain, manyLines, oneLine, sentence, valueText } from '../../src/base/text';
import { errorMessage, exceptionText } from '../../src/base/exception-text';

const CLEAR_SCREEN = '\u001b[2J';
const TITLE = '\u001b]0;owned\u0007';

it('text inside a line cannot add a line, move the cursor or set a colour', () => {
  expect(oneLine(`a\nb\r\tc${CLEAR_SCREEN}${TITLE}d\u0000\u0085\u2028\u202ee`)).toBe(
    'a\\nb\\r\\tcd\\u0000\\u0085\\u2028\\u202ee',
  );
});

it('multi-line text keeps its lines but no other control characters', () => {
  expect(manyLines(`a\n\tb${CLEAR_SCREEN}\r\u0007`)).toBe('a\n\tb\\r\\u0007');
});

it('commands to a terminal take no longer than other text, however they repeat themselves', () => {
  const questions = ';?'.repeat(1_000_000);
  expect(oneLine(`a\u001b${questions}b`) === `a\\u001b${questions}b`).toBe(true);
  expect(oneLine('\u001b]'.repeat(200_000))).toHaveLength(200_000 * '\\u001b]'.length);
  expect(oneLine('a\u001b[31;1mb\u001b(Bc\u001b]8;;http://x\u001b\\d\u009b2Je')).toBe('abcde');
});

it('marks of the direction of writing are escaped where a text is shown, but are part of it', () => {
  expect(isPlain('\u05d0\u200f!')).toBe(true);
  expect(oneLine('\u05d0\u200f!')).toBe('\u05d0\\u200f!');
  expect(manyLines('\u061ca\u200e')).toBe('\\u061ca\\u200e');
});

it('long text is cut, but never inside a character', () => {
  expect(oneLine('abcdef', 3)).toBe('abc…');
  expect(oneLine('ab😀', 3)).toBe('ab\ufffd…');
});

it.each(['SendEmail', 'é漢😀', 'a b', '👩‍👧', ''])('%p needs no escaping', (text) => {
  expect(isPlain(text)).toBe(true);
  expect(oneLine(text)).toBe(text);
});

it('an error message becomes one line of a log', () => {
  expect(errorMessage(new Error(`no\n10:00:00 info  all is well${CLEAR_SCREEN}`))).toBe(
    'no\\n10:00:00 info  all is well',
  );
});

it('the stored text of an error keeps the lines of its stack, but no control characters', () => {
  const text = exceptionText(new Error(`no${TITLE}\u0007`));

  expect(text).toMatch(/^Error: no\\u0007\n +at /);
  expect(text).not.toMatch(/[^\P{Cc}\n]/u);
});

it('foreign text ends with a full stop, so that another sentence may follow', () => {
  expect(['gone', 'Gone.', 'really?'].map(sentence)).toEqual(['gone.', 'Gone.', 'really?']);
});

it('a value in an error changes the direction of no line, and adds none', () => {
  expect(valueText('a\u202e\u2028b')).toBe("'a\\u202e\\u2028b'");
  expect(valueText({ 'k\u202e': '\u001b[31m' })).toBe("{ 'k\\u202e': '\\x1B[31m' }");
});
