import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { definedErrors, withConsequence } from '../../src/base/define-error';
import { OnqueueError } from '../../src/base/onqueue-error';
import { examples } from './examples';

const root = join(__dirname, '../..');
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');

type ErrorClass = new (...parameters: readonly unknown[]) => OnqueueError;

function isErrorClass(value: unknown): value is ErrorClass {
  return typeof value === 'function' && (value === OnqueueError || value.prototype instanceof OnqueueError);
}

const definesErrors = (file: string): boolean =>
  /\b(?:defineError\(|errorClass\(|extends OnqueueError)/.test(readFileSync(file, 'utf8'));

const classes = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && definesErrors(join(root, 'src', file)))
  .flatMap((file) => Object.values(jest.requireActual<object>(join(root, 'src', file))))
  .filter(isErrorClass);

/** Classes that define their code themselves, by name. */
const plain = [...new Set(classes)].filter(({ name }) => name in examples);

function example(key: string): readonly unknown[] {
  const given = examples[key];
  if (given === undefined) throw new Error(`test/base/examples.ts has no arguments for ${key}.`);
  return given;
}

const errors = [
  ...[...definedErrors].map(([code, make]) => [code, () => make(...(example(code) as never))] as const),
  ...plain.map((Class) => [Class.name, () => new Class(...example(Class.name))] as const),
];

describe('the errors of Onqueue', () => {
  it('are all found by this test', () => {
    expect(errors.length).toBeGreaterThan(100);
  });

  it.each(errors)('%s carries its code and its facts', (key, make) => {
    const error = make();
    expect(error).toBeInstanceOf(OnqueueError);
    expect(error.code).toMatch(/^E_[A-Z]+(_[A-Z]+)*$/);
    expect([error.code, error.name]).toContain(key);
    expect(typeof error.facts).toBe('object');
  });

  it.each(errors)('%s says in whole words what is wrong', (_key, make) => {
    const { message } = make();
    expect(message).toMatch(/[^\s]+ [^\s]+/);
    expect(message).not.toMatch(/\bundefined\b(?!\.| constructor)|\[object |\bNaN\b/);
  });

  it('stand in docs/errors.md, each once, and nothing else does', () => {
    const documented = [...page.matchAll(/^\| `(E_\w+)` \|/gm)].map(([, code]) => code);
    expect(documented.toSorted()).toEqual(errors.map(([, make]) => make().code).toSorted());
  });

  it('have no example left over from one that is gone', () => {
    expect(Object.keys(examples).toSorted()).toEqual(errors.map(([key]) => key).toSorted());
  });

  it.each(errors.filter(([code, make]) => definedErrors.has(code as never) && 'consequence' in make().facts))(
    '%s can tell another consequence',
    (_code, make) => {
      const told = withConsequence(make(), 'SendEmail was not kept') as OnqueueError;
      expect(told).toMatchObject({ code: make().code, facts: { consequence: 'SendEmail was not kept' } });
      expect(told.message).toContain('; SendEmail was not kept');
    },
  );

  it('have classes only where docs/errors.md names them, and the package exports these', () => {
    const named = [...page.slice(0, page.indexOf('## ')).matchAll(/`(\w+Error)`/g)].map(([, name]) => name);
    const exported = Object.entries(jest.requireActual<object>('../../src/index')).filter(([, value]) =>
      isErrorClass(value),
    );
    expect(exported.map(([name]) => name).toSorted()).toEqual([...new Set(named)].toSorted());
  });
});
