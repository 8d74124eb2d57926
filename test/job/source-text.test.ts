import { parameterNames, privateMembers } from '../../src/job/source-text';

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

  it('are not the static ones, which no instance carries', () => {
    const source =
      'class A { static #a = 1; static async #b() {} static get #c() { return A.#a; } static { A.#a++; } }';
    expect(privateMembers(source)).toEqual([]);
  });

  it('are not those of a class inside a method', () => {
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
  ])('are not what only looks like them: %p', (source) => {
    expect(privateMembers(source)).toEqual([]);
  });

  it('are found behind texts with brackets and quotes', () => {
    expect(privateMembers("class A { x = '{'; y = /[{]'/; z = `}`; #a; }")).toEqual(['#a']);
    expect(privateMembers('class A { x = `x${1 ? `{` : ``}`; #größe = 1; }')).toEqual(['#größe']);
  });
});

describe('the names of parameters', () => {
  it('are those of a method', () => {
    const owner = { handle(_mailer: unknown, _list = [1, 2], ..._rest: unknown[]) {} };
    expect(parameterNames(owner.handle.toString())).toEqual(['_mailer', '_list', '_rest']);
  });

  it('are those of the constructor of a class, not of a call to one', () => {
    const source = 'class A extends B { x = this.constructor(1); constructor(mailer, clock = f(a, b)) { super(); } }';
    expect(parameterNames(source)).toEqual(['mailer', 'clock']);
  });

  it('are unknown for a parameter that is taken apart, and none for a class without constructor', () => {
    expect(parameterNames('handle({ a }, b) {}')).toEqual([undefined, 'b']);
    expect(parameterNames('class A {}')).toEqual([]);
  });
});
