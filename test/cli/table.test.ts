import * as fc from '../support/properties';
import { formatTable, visibleWidth } from '../../src/cli/output';

describe('a table', () => {
  it('aligns text to the left and numbers to the right', () => {
    const table = formatTable(
      ['queue', 'ready', 'note'],
      [
        ['high', 7, 'a'],
        ['default', 12_345, 'b'],
      ],
    );

    expect(table.split('\n')).toEqual(['queue    ready  note', 'high         7  a', 'default  12345  b']);
  });

  it('counts columns as a terminal shows them: wide characters as two, combining ones as part of another', () => {
    expect(visibleWidth('日本')).toBe(4);
    expect(visibleWidth('👩‍🚀')).toBe(2);
    expect(visibleWidth('e\u0301')).toBe(1);
    expect(
      formatTable(
        ['a', 'b'],
        [
          ['日本', 'x'],
          ['four', 'x'],
        ],
      ).split('\n'),
    ).toEqual(['a     b', '日本  x', 'four  x']);
  });

  it('contains no control characters, which could move the cursor or break the line', () => {
    const table = formatTable(['error'], [['first\nsecond \u001B[2Jthird\u009B0m']]);

    expect(table).toBe('error\nfirst second  [2Jthird 0m');
  });

  it('contains nothing that separates lines or turns the direction of writing', () => {
    expect(formatTable(['a', 'b'], [['x\u2028 y\u2029z', '\u202e\u2066\u200f']])).toBe(
      'a      b\nx y z  \\u202e\\u2066\\u200f',
    );
  });

  it('shows multi-line text on one line without indentation', () => {
    expect(formatTable(['found'], [['has mistakes:\n  one\n  two']])).toBe('found\nhas mistakes: one two');
  });

  it('cuts the last column to the width of the terminal, and marks the cut', () => {
    const table = formatTable(['id', 'error'], [['1', 'the connection was refused']], 20);

    expect(table.split('\n')[1]).toBe('1   the connection…');
  });

  it('takes no longer for each character of a long text, such as a response on one line', () => {
    const body = (character: string) => `502 ${character.repeat(100_000)}`;
    const rows = ['x', 'é', '日'].map((character) => ['1', body(character)]);

    expect(formatTable(['id', 'error'], rows).split('\n')[3]).toBe(`1   ${body('日')}`);
    expect(formatTable(['id', 'error'], rows, 20).split('\n').slice(1)).toEqual([
      `1   502 ${'x'.repeat(11)}…`,
      `1   502 ${'é'.repeat(11)}…`,
      `1   502 ${'日'.repeat(5)}…`,
    ]);
    expect(rows.map(([, text]) => visibleWidth(text!))).toEqual([100_004, 100_004, 200_004]);
  });

  it('leaves a missing cell empty', () => {
    expect(formatTable(['a', 'b'], [[undefined, 'x']])).toBe('a  b\n   x');
  });

  it('starts the second column at the same position in every row', () => {
    const cell = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 8 }), (names) => {
        const lines = formatTable(
          ['name', 'mark'],
          names.map((name) => [name, '|']),
        )
          .split('\n')
          .slice(1);
        const places = lines.map((line) => visibleWidth(line.slice(0, line.lastIndexOf('|'))));

        expect(new Set(places).size).toBe(1);
      }),
    );
  });
});
