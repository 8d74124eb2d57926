import * as fc from '../support/properties';
import { codeAlone } from '../../src/job/code-text';
import { privateMembers } from '../../src/job/source-text';

const spaces = (text: string): string => text.replaceAll(/ +/g, ' ').trim();

describe('the code of a text', () => {
  it.each([
    ['a = \'b\' + "c" // d\n/* e\n */ + 1', 'a = + \n + 1'],
    ['a = `b`; c', 'a = ; c'],
    ['a = `b${c ? `#d${e}` : `{`}#f`; g', 'a = ; g'],
    ['a = `$${b}$`; c', 'a = ; c'],
    ['a = `\\`${`\\${`}`; b', 'a = ; b'],
    ['a = `${{ b: { c: 1 } }.b.c}}`; d', 'a = ; d'],
    ['a = `${/[`}]/.test("}") // }`\n}`; b', 'a = ; b'],
    ['a = /#b/g; c', 'a = ; c'],
    ['a = /[/]#"/.source; b', 'a = .source; b'],
    ['a / b / c', 'a / b / c'],
    ['(a) / "b" / c', '(a) / / c'],
    ['a[1] / "b" / c', 'a[1] / / c'],
    ['1.5 / "b" / 2. / "c" / .5 / 3', '1.5 / / 2. / / .5 / 3'],
    ['{ a: 1 } / "b" / c', '{ a: 1 } c'],
    ['a = { b: 1 } / "c" / d', 'a = { b: 1 } / / d'],
    ['a++ / "b" / c', 'a++ / / c'],
    ['`a` / "b" / c', '/ / c'],
    ['a.return / "b" / c; this.#if (d) / "e" / f', 'a.return / / c; this.#if (d) / / f'],
    ['if (a) /"/.test(b); while (/"/.test(c)) /[(]/.d()', 'if (a) .test(b); while ( .test(c)) .d()'],
    ['for await (a of b) /"/.test(c)', 'for await (a of b) .test(c)'],
    ['await (a) / "b" / c', 'await (a) / / c'],
    ['return /"/; typeof /"/; case /"/: else /"/; (a) => /"/', 'return ; typeof ; case : else ; (a) =>'],
    ['if (a) { b } /"/.test(c)', 'if (a) { b } .test(c)'],
    ['() => { a }\n/"/.test(b)', '() => { a }\n .test(b)'],
    ['a = b\n/ c', 'a = b\n/ c'],
    ['= / 2', '= / 2'],
    ['größe / "b" / c', 'größe / / c'],
    ["'a", "'a"],
    ['`a', ''],
    ['`a${b', ''],
    ['`a${b}', ''],
  ])('is what is no comment and no literal: %p', (source, code) => {
    expect(spaces(codeAlone(source))).toBe(spaces(code));
  });

  it('is as long as the text, whatever that is', () => {
    const piece = fc.constantFrom(
      '`',
      '${',
      '}',
      '{',
      '(',
      ')',
      '/',
      '//',
      '/*',
      '*/',
      "'",
      '"',
      '\\',
      '\n',
      '#a',
      'b ',
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const source = pieces.join('');
        expect(codeAlone(source)).toHaveLength(source.length);
      }),
    );
  });
});

const NASTY = fc
  .array(fc.constantFrom('#x', '{', '}', '(', ')', '[', ']', ';', 'a', ' ', '//', '/*', 'static', '$'))
  .map((pieces) => pieces.join(''));

/** An expression of an initialiser, and of whatever stands within it. */
const { expression } = fc.letrec<{ expression: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('1', '.5', '2.', 'this.y', '{}.z', 'null'),
    NASTY.map((text) => `'${text}"\\''`),
    NASTY.map((text) => `"${text}'\\""`),
    NASTY.map((text) => `\`${text.replaceAll('$', '')}\\\`\\\${\``),
    fc.constantFrom('/#x[/`}]/g', '/[{("]/', "/\\/'/", '/(`)/u.source'),
    fc.tuple(NASTY, tie('expression')).map(([text, code]) => `\`${text.replaceAll('$', '')}\${${code}}}\``),
    tie('expression').map((code) => `{ z: ${code} }.z`),
    tie('expression').map((code) => `(() => { if (${code}) /#x}\`/.exec('{'); return ${code}; })()`),
    tie('expression').map((code) => `new (class { #x = ${code}; static #y; })()`),
    tie('expression').map((code) => `[${code}, (${code})]`),
    fc.constant("/* ` #x } */ 3 // '{#x\n"),
  ),
  expression: fc
    .array(fc.tuple(fc.constantFrom(' + ', ' / ', '\n/ ', ' ? 1 : ', ' , '), tie('part')), { maxLength: 3 })
    // What begins with a brace is an object only behind an operator.
    .chain((rest) =>
      tie('part').map((first) => `(0, ${first}${rest.map(([operator, part]) => operator + part).join('')})`),
    ),
}));

type Member = readonly [text: string, declares?: string];

const member = (name: string): fc.Arbitrary<Member> =>
  fc.oneof(
    expression.map((code): Member => [`#${name} = ${code};`, `#${name}`]),
    expression.map((code): Member => [`async *#${name}() { return ${code}; }`, `#${name}`]),
    fc.constant<Member>([`get #${name}() { return 1; }`, `#${name}`]),
    expression.map((code): Member => [`static #${name} = ${code};`]),
    expression.map((code): Member => [`static async #${name}(a = ${code}) {}`]),
    fc.constant<Member>([`static #${name}; static has${name} = (a) => #${name} in a\n`]),
    expression.map((code): Member => [`${name} = ${code}\n`]),
    expression.map((code): Member => [`'#${name}' = ${code};`]),
    expression.map((code): Member => [`static { ${code}; }`]),
  );

it('private members are told from whatever stands around them', () => {
  const members = fc.tuple(...['größe', 'a', 'b', 'c'].map(member));
  fc.assert(
    fc.property(members, (list) => {
      const source = `class A {\n${list.map(([text]) => text).join('\n')}\n}`;
      // oxlint-disable-next-line typescript/no-implied-eval -- only parsed: a text that is no class proves nothing
      expect(() => new Function(`'use strict'; ${source}`)).not.toThrow();
      expect(privateMembers(source)).toEqual(list.flatMap(([, declared]) => declared ?? []));
    }),
    { numRuns: 500 },
  );
});
