import * as fc from '../support/properties';
import { parameterNames, privateMembers } from '../../src/base/class';

describe('the private members of a class', () => {
  it('are its fields, methods and accessors with a #', () => {
    const source = 'class A extends B { #a = 1; #b() {} get #c() { return this.#a; } async *#d() {} x = 2; }';
    expect(privateMembers(source)).toEqual(['#a', '#b', '#c', '#d']);
  });

  it('are found in real classes', () => {
    class Secret {
      #key = 'k';
      read(): string {
        return this.#key;
      }
    }
    expect(privateMembers(Secret.toString())).toEqual(['#key']);
  });

  it('exclude static ones, which no instance has', () => {
    const source =
      'class A { static #a = 1; static async #b() {} static get #c() { return A.#a; } static { A.#a++; } }';
    expect(privateMembers(source)).toEqual([]);
  });

  it('exclude those of a class inside a method', () => {
    expect(privateMembers('class A { handle() { return new (class { #inner = 1; })(); } }')).toEqual([]);
  });

  it.each([
    ["class A { color = '#fff'; }"],
    ['class A { color = "#fff"; }'],
    ['class A { color = `#fff ${"#x"}`; }'],
    ['class A { // #fields\n x = 1; /* #more */ }'],
    ['class A { x = /#\\w+[/#]/; }'],
    ["class A { x = 'it\\'s #a'; y = a / b; }"],
    ['class A { x = this.b.#c; }'],
    ['class A { x = `${dark ? `#fff` : `#000`}`; }'],
    ['class A { static #a; static isOne = (other) => #a in other; }'],
    ['class A { static accessor #a = 1; }'],
  ])('exclude whatever only looks like one: %p', (source) => {
    expect(privateMembers(source)).toEqual([]);
  });

  it('are found after strings with brackets and quotes', () => {
    expect(privateMembers("class A { x = '{'; y = /[{]'/; z = `}`; #a; }")).toEqual(['#a']);
    expect(privateMembers('class A { x = `x${1 ? `{` : ``}`; #größe = 1; }')).toEqual(['#größe']);
  });
});

describe('the names of parameters', () => {
  it('are those of a method', () => {
    const owner = { handle(_mailer: unknown, _clock: unknown, ..._rest: unknown[]) {} };
    expect(parameterNames(owner.handle.toString())).toEqual(['_mailer', '_clock', '_rest']);
  });

  it('are those of the constructor of a class, not of a call to a constructor', () => {
    const source = 'class A extends B { x = this.constructor(1); constructor(mailer, clock = f(a, b)) { super(); } }';
    expect(parameterNames(source)).toEqual(['mailer', 'clock']);
  });

  it('end at a destructured parameter, and are none for a class without a constructor', () => {
    expect(parameterNames('handle(a, { b }, c) {}')).toEqual(['a']);
    expect(parameterNames('class A {}')).toEqual([]);
  });
});

const NASTY = fc
  .array(fc.constantFrom('#x', '{', '}', '(', ')', '[', ']', ';', 'a', ' ', '//', '/*', 'static', '$'))
  .map((pieces) => pieces.join(''));

/** The expression of an initialiser, with whatever may stand inside it. */
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
    // A leading brace would start a block; after an operator it starts an object.
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

it('private members are found amid any other code', () => {
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
