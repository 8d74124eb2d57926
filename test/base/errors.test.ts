import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { definedErrors, withConsequence, OnqueueError } from '../../src/base/onqueue-error';
import { examples } from './examples';

const root = join(__dirname, '../..');
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');

const classes = Object.entries(jest.requireActual<object>('../../src/index')).filter(
  ([, value]) => typeof value === 'function' && (value === OnqueueError || value.prototype instanceof OnqueueError),
);

// Each definition registers itself when its file is loaded.
for (const file of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
  const path = join(root, 'src', file);
  if (file.endsWith('.ts') && /\b(?:defineError|errorClass)\(/.test(readFileSync(path, 'utf8')))
    jest.requireActual<object>(path);
}

function example(key: string): readonly unknown[] {
  const given = examples[key];
  if (given === undefined) throw new Error(`test/base/examples.ts has no arguments for ${key}.`);
  return given;
}

const errors = [...definedErrors].map(([code, make]) => [code, () => make(...(example(code) as never))] as const);

describe('the errors of Onqueue', () => {
  it('are all found by this test', () => {
    expect(errors.length).toBeGreaterThan(100);
  });

  it.each(errors)('%s carries its code and its facts', (key, make) => {
    const error = make();
    expect(error).toBeInstanceOf(OnqueueError);
    expect(error.code).toMatch(/^E_[A-Z]+(_[A-Z]+)*$/);
    expect(error.code).toBe(key);
    expect(typeof error.facts).toBe('object');
  });

  it('are printed by Node.js without their facts, but show them to programs, JSON and loggers', () => {
    const error = new OnqueueError('E_EXAMPLE', { message: 'It is no queue.', facts: { queue: 'mail' } });
    expect(inspect(error)).not.toContain("'mail'");
    expect(error.facts).toEqual({ queue: 'mail' });
    expect(JSON.parse(JSON.stringify({ error }))).toEqual({
      error: { code: 'E_EXAMPLE', facts: { queue: 'mail' }, name: 'OnqueueError' },
    });
    const seen: string[] = [];
    for (const key in error) seen.push(key);
    expect(seen.toSorted()).toEqual(['code', 'facts', 'name']);
  });

  it.each(errors)('%s has a message in plain words', (_key, make) => {
    const { message } = make();
    expect(message).toMatch(/[^\s]+ [^\s]+/);
    expect(message).not.toMatch(/\bundefined\b(?!\.| constructor)|\[object |\bNaN\b/);
  });

  it('are each listed once in docs/errors.md, which lists no others', () => {
    const documented = [...page.matchAll(/^\| `(E_\w+)` \|/gm)].map(([, code]) => code);
    expect(documented.toSorted()).toEqual(errors.map(([, make]) => make().code).toSorted());
  });

  it('have no leftover examples', () => {
    expect(Object.keys(examples).toSorted()).toEqual(errors.map(([key]) => key).toSorted());
  });

  it.each(errors.filter(([, make]) => 'consequence' in make().facts))(
    '%s can be given another consequence',
    (_code, make) => {
      const told = withConsequence(make(), 'SendEmail was not kept') as OnqueueError;
      expect(told).toMatchObject({ code: make().code, facts: { consequence: 'SendEmail was not kept' } });
      expect(told.message).toContain('; SendEmail was not kept');
    },
  );

  it('have exported classes exactly where docs/errors.md names them', () => {
    const named = [...page.slice(0, page.indexOf('## ')).matchAll(/`(\w+Error)`/g)].map(([, name]) => name);
    expect(classes.map(([name]) => name).toSorted()).toEqual([...new Set(named)].toSorted());
  });
});
