import { isPlain, manyLines, oneLine, sentence } from '../../src/base/plain-text';
import { errorMessage, exceptionText } from '../../src/base/exception-text';

const CLEAR_SCREEN = '\u001b[2J';
const TITLE = '\u001b]0;owned\u0007';

it('a text for the middle of a line adds no line, moves no cursor and colours nothing', () => {
  expect(oneLine(`a\nb\r\tc${CLEAR_SCREEN}${TITLE}d\u0000\u0085\u2028\u202ee`)).toBe(
    'a\\nb\\r\\tcd\\u0000\\u0085\\u2028\\u202ee',
  );
});

it('a text with lines of its own keeps them, and nothing else of that kind', () => {
  expect(manyLines(`a\n\tb${CLEAR_SCREEN}\r\u0007`)).toBe('a\n\tb\\r\\u0007');
});

it('a text that is too long is cut, never in the middle of a character', () => {
  expect(oneLine('abcdef', 3)).toBe('abc…');
  expect(oneLine('ab😀', 3)).toBe('ab\ufffd…');
});

it.each(['SendEmail', 'é漢😀', 'a b', '👩‍👧', ''])('nothing is wrong with %p', (text) => {
  expect(isPlain(text)).toBe(true);
  expect(oneLine(text)).toBe(text);
});

it('the message of an error is one line of a log', () => {
  expect(errorMessage(new Error(`no\n10:00:00 info  all is well${CLEAR_SCREEN}`))).toBe(
    'no\\n10:00:00 info  all is well',
  );
});

it('the text of an error that is kept has the lines of its stack, and nothing that a terminal obeys', () => {
  const text = exceptionText(new Error(`no${TITLE}\u0007`));

  expect(text).toMatch(/^Error: no\\u0007\n +at /);
  expect(text).not.toMatch(/[^\P{Cc}\n]/u);
});

it('what somebody else wrote is a sentence, so that another one may follow', () => {
  expect(['gone', 'Gone.', 'really?'].map(sentence)).toEqual(['gone.', 'Gone.', 'really?']);
});
