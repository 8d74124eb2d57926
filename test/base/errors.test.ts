import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OnqueueError } from '../../src/base/onqueue-error';
import { examples } from './examples';

type ErrorClass = new (...parameters: readonly unknown[]) => OnqueueError;

const root = join(__dirname, '../..');
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');

const isErrorClass = (value: unknown): value is ErrorClass =>
  typeof value === 'function' && value.prototype instanceof OnqueueError;

/** Every error class of every `errors.ts`, once. */
const classes = [
  ...new Set(
    readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(^|\/)errors\.ts$/.test(file))
      .flatMap((file) => Object.values(jest.requireActual<object>(join(root, 'src', file))).filter(isErrorClass)),
  ),
];
const named = classes.map((Class): [string, ErrorClass] => [Class.name, Class]);

function make(Class: ErrorClass): OnqueueError {
  const parameters = examples[Class.name];
  if (parameters === undefined) throw new Error(`test/base/examples.ts has no arguments for ${Class.name}.`);
  return new Class(...parameters);
}

describe('the errors of Onqueue', () => {
  it('are all found by this test', () => {
    expect(classes.length).toBeGreaterThan(50);
  });

  it.each(named)('%s carries its name, a code and its facts', (name, Class) => {
    const error = make(Class);
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe(name);
    expect(error.code).toMatch(/^E_[A-Z]+(_[A-Z]+)*$/);
    expect(typeof error.facts).toBe('object');
  });

  it.each(named)('%s says in whole words what is wrong', (_name, Class) => {
    const { message } = make(Class);
    expect(message).toMatch(/[^\s]+ [^\s]+/);
    expect(message).not.toMatch(/\bundefined\b(?!\.| constructor)|\[object |\bNaN\b/);
  });

  it.each(named)('%s stands in docs/errors.md, with its code', (name, Class) => {
    expect(page).toContain(`| \`${make(Class).code}\` | \`${name}\` |`);
  });

  it('have codes of their own', () => {
    const codes = classes.map((Class) => make(Class).code);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('are the only ones in docs/errors.md', () => {
    const documented = [...page.matchAll(/^\| `(E_\w+)`/gm)].map(([, code]) => code);
    expect(documented.toSorted()).toEqual(classes.map((Class) => make(Class).code).toSorted());
  });

  it('have no example left over from a class that is gone', () => {
    expect(Object.keys(examples).toSorted()).toEqual(classes.map(({ name }) => name).toSorted());
  });
});
