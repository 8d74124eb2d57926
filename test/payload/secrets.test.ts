/** Errors and payloads without what nobody may see of a job's data. */
import { randomBytes } from 'node:crypto';
import { exceptionText } from '../../src/base/exception-text';
import { invalidJobOption } from '../../src/job/errors';
import { decodeEnvelope } from '../../src/payload/envelope';
import { maskedError, maskingOf, maskSensitive, type Masking } from '../../src/payload/secrets';
import { Vault } from '../../src/payload/vault';

const vault = new Vault({ use: 'k', keys: { k: randomBytes(32).toString('base64') } });
const ID = '0193a6c1-0000-7000-8000-000000000001';

function masking(command: object, sensitive?: readonly string[]): Masking {
  const of = { name: 'Charge', id: ID, kind: 'data' } as const;
  const sealed = { commandName: 'Charge', command: vault.seal(JSON.stringify({ command }), of) };
  const data = sensitive === undefined ? sealed : { commandName: 'Charge', command };
  const payload = { displayName: 'Charge', job: 'onqueue+', data, sensitive, id: ID, attempts: 1 };
  return maskingOf(decodeEnvelope(Buffer.from(JSON.stringify(payload))), undefined, vault)!;
}

const canary = 'canary-7f3a9b';

it('an error that quotes encrypted data keeps its class and its frames, and loses the data, with all its causes', () => {
  const cause = Object.assign(new RangeError(`no card ${canary}`), { detail: `(card)=(${canary})` });
  const error = new TypeError(`refused: ${canary}\nfor ${canary}`, { cause });
  cause.cause = error;

  const shown = maskedError(error, masking({ card: canary }));

  expect(shown).toBe(error);
  expect(shown).toBeInstanceOf(TypeError);
  expect(shown.message).toBe('refused: ***\nfor ***');
  expect(cause.detail).toBe('(card)=(***)');
  expect(exceptionText(shown)).not.toContain('canary');
  expect(shown.stack).toContain('secrets.test.ts');
});

it('pieces of the data are masked too: parsers quote the beginning of what they cannot read', () => {
  let thrown = new Error();
  try {
    JSON.parse(`${canary}-and-more`);
  } catch (error) {
    thrown = error as Error;
  }
  const quoted = new Error(JSON.stringify({ text: `line one of it\n${canary} "x"` }));

  expect(exceptionText(maskedError(thrown, masking({ text: `${canary}-and-more` })))).not.toContain('canary');
  expect(maskedError(quoted, masking({ text: `line one of it\n${canary} "x"` })).message).not.toMatch(
    /canary|line one/,
  );
});

it('numbers, keys that are no names, short texts of six characters and texts that look like frames are masked', () => {
  const mask = masking({ number: 4111111111111111, by: { 'ada@example.com': 1 }, pin: '123456', no: 'abc' });
  expect(mask('4111111111111111 ada@example.com 123456 abc')).toBe('*** *** *** abc');

  const frame = 'boom\n    at canary (file.js:1:1)';
  const error = maskedError(new Error(frame), masking({ report: frame }));
  expect(exceptionText(error)).not.toContain('canary');
});

it('causes that are texts, parts of an aggregate, facts of our own errors and errors that are frozen are masked', () => {
  const mask = masking({ card: canary });
  const aggregate = new AggregateError([new Error(canary), canary], 'all', { cause: canary });
  const own = invalidJobOption(`x ${canary}`, canary, 'Remedy.');

  expect(exceptionText(maskedError(aggregate, mask))).not.toContain(canary);
  expect(JSON.stringify(maskedError(own, mask))).not.toContain(canary);
  expect(maskedError(Object.freeze(new Error(canary)), mask).message).toBe('***');
});

it('a long text full of the data is masked in time that grows with its length', () => {
  const mask = masking({ text: 'a'.repeat(200_000) });
  expect(mask('a'.repeat(1_000_000))).toHaveLength('***… (cut)'.length);
});

it('only the sensitive fields count if the data are not encrypted, in each item of a list', () => {
  const command = { cards: [{ number: canary, owner: 'Ada Lovelace' }], 'a/b': { c: 'secret-c' } };
  const payload = { job: 'onqueue', data: { commandName: 'Charge', command: structuredClone(command) } };

  const mask = masking(command, ['/cards/number', '/a~1b/c']);
  maskSensitive(Object.assign(payload, { sensitive: ['/cards/number', '/gone/for/ever'] }), ['a/b.c']);

  expect(mask(`${canary} of Ada Lovelace, secret-c`)).toBe('*** of Ada Lovelace, ***');
  expect(payload.data.command).toEqual({ cards: [{ number: '***', owner: 'Ada Lovelace' }], 'a/b': { c: '***' } });
});

it('data that cannot be opened are not searched for: nobody has read them', () => {
  const payload = { displayName: 'C', job: 'onqueue+', data: { commandName: 'C', command: 'v1.gone.a.b.c' }, id: ID };
  expect(maskingOf(decodeEnvelope(Buffer.from(JSON.stringify(payload))), undefined, vault)).toBeUndefined();
});
