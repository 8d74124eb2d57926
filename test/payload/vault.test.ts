/** Seals of encrypted jobs: only the whole text, of this job, under a key that is there, is opened. */
import { randomBytes } from 'node:crypto';
import { isSealed, keysNamedIn, type Sealed, Vault } from '../../src/payload/vault';
import { UnknownKeyError } from '../../src/payload/errors';

const keyText = (): string => randomBytes(32).toString('base64');
const keys = { '2026-05': keyText(), '2026-11': keyText() };
const vault = new Vault({ use: '2026-11', keys });
const charge: Sealed = { name: 'Charge', id: '0193a6c1-0000-7000-8000-000000000001', kind: 'data' };
const tampered = expect.objectContaining({ code: 'E_TAMPERED_PAYLOAD' }) as Error;

it('what is sealed is opened unchanged, and no seal is like another', () => {
  const text = '{"card":"4111 1111 1111 1111 💳"}';
  const [one, other] = [vault.seal(text, charge), vault.seal(text, charge)];

  expect(one).toMatch(/^v1\.2026-11\./);
  expect(one).not.toBe(other);
  expect(isSealed(one)).toBe(true);
  expect([vault.open(one, charge), vault.open(other, charge)]).toEqual([text, text]);
});

it('a seal of another job, another class or another part is refused', () => {
  const sealed = vault.seal('{}', charge);

  for (const other of [{ name: 'Refund' }, { id: '0193a6c1-0000-7000-8000-000000000002' }, { kind: 'result' }] as const)
    expect(() => vault.open(sealed, { ...charge, ...other })).toThrow(tampered);
});

it('each progress of a batch sends the same callback under an id of its own', () => {
  const sealed = vault.seal('{"n":1}', charge);

  expect(vault.open(sealed, { ...charge, id: `${charge.id}-17` })).toBe('{"n":1}');
});

it('a text that was changed or cut at any place is not opened', () => {
  const sealed = vault.seal(JSON.stringify({ text: 'x'.repeat(720) }), charge);
  expect(sealed.length).toBeGreaterThan(1000);

  for (let at = 0; at < sealed.length; at += 1) {
    const code = sealed.charCodeAt(at);
    const changed = [
      sealed.slice(0, at) + String.fromCharCode(code ^ 1) + sealed.slice(at + 1),
      sealed.slice(0, at) + sealed.slice(at + 1),
      sealed.slice(0, at),
    ];
    for (const text of changed) expect(() => vault.open(text, charge)).toThrow(/E_|needs the key|were changed/);
  }
});

it('two spellings of the same bytes are not taken for one', () => {
  const sealed = vault.seal('{}', charge);
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const twin = last[last.indexOf(sealed.at(-1)!) + 1]!;

  expect(() => vault.open(sealed.slice(0, -1) + twin, charge)).toThrow(tampered);
  expect(() => vault.open(`${sealed}=`, charge)).toThrow(tampered);
});

it('a key that is not there is named, and the job may be for another worker', () => {
  const sealed = new Vault({ use: '2026-05', keys }).seal('{}', charge);
  const newer = new Vault({ use: '2026-11', keys: { '2026-11': keys['2026-11'] } });

  expect(vault.open(sealed, charge)).toBe('{}');
  expect(() => newer.open(sealed, charge)).toThrow(UnknownKeyError);
  expect(() => newer.open(sealed, charge)).toThrow(
    "Charge 0193a6c1-0000-7000-8000-000000000001 needs the key '2026-05'. Add it to encryption.keys.",
  );
});

it('nothing is sealed without a key', () => {
  expect(() => new Vault().seal('{}', charge)).toThrow(
    'Charge is encrypted, but the configuration has no `encryption`. Make a key with `openssl rand -base64 32`, and set encryption: { use, keys }.',
  );
});

it('the keys of sealed texts are found, however deep they are nested', () => {
  const sealed = vault.seal('{}', charge);
  const link = JSON.stringify({ payload: JSON.stringify({ data: { command: sealed } }) });

  expect([...keysNamedIn(`${link} v1.0.2 v1.x.short.y.z`)]).toEqual(['2026-11']);
});
