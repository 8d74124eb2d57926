import type { Class } from '../../src/base/class';
import type { JobDefinition } from '../../src/job/registry';
import { decodeEnvelope, decodeJob, decodeMiddleware } from '../../src/payload/envelope';
import { encodePayload } from '../../src/payload/payload-text';
import { InvalidPayloadError, PayloadVersionError, UnknownClassError } from '../../src/payload/errors';
import { classesOf, definitionOf } from './classes';
import { Vault } from '../../src/payload/vault';

class SendEmail {
  constructor(
    readonly to: string,
    readonly at?: Date,
  ) {
    throw new Error('The constructor ran.');
  }
}

class RateLimited {
  limit = 1;
  handle(): void {}
}

const definition = (more?: Partial<JobDefinition>) => definitionOf(SendEmail, more);

const known = new Map<string, Class>([['RateLimited', RateLimited]]);
const classes = classesOf(known);

const payload = (fields: Record<string, unknown>): Buffer => Buffer.from(JSON.stringify(fields));
const ours = (data: Record<string, unknown>, more: Record<string, unknown> = {}): Buffer =>
  payload({ job: 'onqueue', data: { commandName: 'SendEmail', command: {}, ...data }, id: 'i', attempts: 0, ...more });
const decode = (text: Buffer, more: Partial<JobDefinition> = {}): object =>
  decodeJob(decodeEnvelope(text), definition(more), classes, new Vault());

describe('the envelope of a class job', () => {
  it('tells everything that does not need the class', () => {
    const envelope = decodeEnvelope(
      ours({ version: 3 }, { displayName: 'Mail', maxTries: 5, backoff: '10,60', jitter: 0.1, trace: 't1' }),
    );

    expect(envelope).toMatchObject({
      id: 'i',
      kind: 'onqueue',
      name: 'SendEmail',
      names: ['SendEmail'],
      displayName: 'Mail',
      chosen: { tries: 5, backoff: { delays: [10, 60], jitter: 0.1 } },
      middleware: undefined,
    });
    expect(envelope.fields).toMatchObject({ trace: 't1', maxTries: 5 });
    expect(envelope.fields['data']).toEqual({ commandName: 'SendEmail', command: {}, version: 3 });
  });

  it('gives the job with its data, without running its constructor', () => {
    const command = { to: 'ada', at: '2026-11-21T00:00:00.000Z' };

    const job = decode(ours({ command, types: { '/at': 'Date' } })) as SendEmail;

    expect(job).toBeInstanceOf(SendEmail);
    expect(job).toMatchObject({ to: 'ada', at: new Date('2026-11-21') });
  });

  it('gives an independent job at each call', () => {
    const text = ours({ command: { to: ['ada'], at: [null] }, types: { '/at/0': 'undefined' } });
    const envelope = decodeEnvelope(text);

    const first = decodeJob(envelope, definition(), classes, new Vault()) as unknown as { to: string[]; at: unknown[] };
    first.to.push('bo');
    const second = decodeJob(envelope, definition(), classes, new Vault());

    expect({ ...second }).toEqual({ to: ['ada'], at: [undefined] });
    expect(envelope.fields).toEqual(JSON.parse(text.toString()));
  });

  it('accepts [] as an empty object, as PHP writes it', () => {
    expect(decode(ours({ command: [], types: [] }))).toEqual(Object.create(SendEmail.prototype));
  });

  it('refuses a type for the command as a whole', () => {
    expect(() => decode(ours({ types: { '': 'Map' } }))).toThrow(
      '/data/types: the data as a whole must not have a type',
    );
  });

  it('refuses a type that does not match, with the pointer from the root of the payload', () => {
    expect(() => decode(ours({ types: { '/at': 'Date' } }))).toThrow(
      '/data/command/at: there is nothing at this place',
    );
  });

  it('refuses a key `constructor` in the data', () => {
    expect(() => decode(ours({ command: { constructor: 'x' } }))).toThrow(InvalidPayloadError);
  });
});

describe('the version of the data', () => {
  const upgrade = (data: Record<string, unknown>, from: number): Record<string, unknown> => ({
    to: data['email'] ?? data['to'],
    at: data['at'],
    from,
  });

  it('is 0 if the payload has none, and upgrade() gets older data with typed values restored', () => {
    const job = decode(ours({ command: { email: 'ada', at: null }, types: { '/at': 'Date' } }), {
      version: 2,
      upgrade,
    });

    expect({ ...job }).toEqual({ to: 'ada', at: expect.any(Date) as Date, from: 0 });
    expect(job).toBeInstanceOf(SendEmail);
  });

  it('needs no upgrade if it is that of the class', () => {
    expect({ ...decode(ours({ command: { to: 'ada' }, version: 2 }), { version: 2, upgrade }) }).toEqual({ to: 'ada' });
  });

  it('is refused if it is later than that of the class, as another worker may know it', () => {
    expect(() => decode(ours({ version: 3 }), { version: 2, upgrade })).toThrow(PayloadVersionError);
    expect(() => decode(ours({ version: 1 }))).toThrow('have version 1, and the class here knows versions up to 0');
  });

  it.each([undefined, [], new Map(), Promise.resolve({})])(
    'is refused if upgrade() returns no plain object: %p',
    (result) => {
      const bad = (() => result) as unknown as NonNullable<JobDefinition['upgrade']>;

      expect(() => decode(ours({}), { version: 1, upgrade: bad })).toThrow(
        'upgrade() of SendEmail returned no plain object',
      );
    },
  );
});

describe('middleware of the dispatch', () => {
  it('comes back as instances of registered classes, new ones at each call', () => {
    const job = Object.create(SendEmail.prototype) as object;
    const text = encodePayload({
      definition: definition(),
      job,
      chosen: {},
      id: 'i',
      classes,
      middleware: [new RateLimited()],
    });
    const envelope = decodeEnvelope(Buffer.from(text));

    const [first] = decodeMiddleware(envelope, classes, new Vault());
    const [second] = decodeMiddleware(envelope, classes, new Vault());

    expect(envelope.middleware).toBeDefined();
    expect(first).toEqual(new RateLimited());
    expect(first).toBeInstanceOf(RateLimited);
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
  });

  it('is an empty list if there is none', () => {
    expect(decodeMiddleware(decodeEnvelope(ours({})), classes, new Vault())).toEqual([]);
  });

  it.each([
    [{}, '/middleware/command'],
    ['x', '/middleware/command'],
    [{ command: [], types: 'x' }, '/middleware/types'],
  ])('is refused if it is %j', (middleware, pointer) => {
    const envelope = decodeEnvelope(ours({}, { middleware }));

    expect(() => decodeMiddleware(envelope, classes, new Vault())).toThrow(pointer);
  });

  it('is refused if its class is not registered here, as another worker may know it', () => {
    const envelope = decodeEnvelope(ours({}, { middleware: { command: [{}], types: { '/0': 'class:Gone' } } }));

    expect(() => decodeMiddleware(envelope, classes, new Vault())).toThrow(UnknownClassError);
  });
});

describe('a string job', () => {
  it('is looked up by the name before @, and by the last part of its namespace', () => {
    const envelope = decodeEnvelope(payload({ job: 'App\\Jobs\\SendEmail@deliver', data: { to: 'ada' }, id: 'i' }));

    expect(envelope).toMatchObject({
      kind: 'string',
      name: 'App\\Jobs\\SendEmail',
      names: ['App\\Jobs\\SendEmail', 'SendEmail'],
      displayName: 'App\\Jobs\\SendEmail',
    });
    expect(decodeEnvelope(payload({ job: 'SendEmail' }))).toMatchObject({
      names: ['SendEmail'],
      id: undefined,
    });
  });

  it('has its data as properties, and data that are not an object as `data`', () => {
    const job = (data: unknown): object => ({ ...decode(payload({ job: 'SendEmail@handle', data })) });

    expect(job({ to: 'ada', nested: [] })).toEqual({ to: 'ada', nested: [] });
    expect(job([1])).toEqual({ data: [1] });
    expect(job('ada')).toEqual({ data: 'ada' });
    expect(job(null)).toEqual({});
    expect({ ...decode(payload({ job: 'SendEmail' })) }).toEqual({});
  });

  it('is not upgraded, as its data have no version', () => {
    const upgrade = (): Record<string, unknown> => ({ upgraded: true });

    expect({ ...decode(payload({ job: 'SendEmail', data: { version: 9 } }), { version: 2, upgrade }) }).toEqual({
      version: 9,
    });
  });
});

describe('an invalid payload', () => {
  it.each<[string, Buffer, string]>([
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'it is not UTF-8'],
    ['a byte order mark', Buffer.from('\ufeff{}'), 'it is not JSON'],
    ['half an object', Buffer.from('{"job":"onque'), 'it is not JSON'],
    ['nothing', Buffer.alloc(0), 'it is not JSON'],
    ['a list', Buffer.from('[]'), 'it is JSON, but not an object'],
    ['null', Buffer.from('null'), 'it is JSON, but not an object'],
    ['an object without a job', Buffer.from('{}'), '/job'],
    ['a job that is a number', payload({ job: 1 }), '/job'],
    ['a job without a name', payload({ job: '@fire' }), '/job'],
    ['no data', payload({ job: 'onqueue' }), '/data'],
    ['data without a command name', ours({ commandName: undefined }), '/data/commandName'],
    ['no command', ours({ command: undefined }), '/data/command'],
    ['a command that is a list', ours({ command: [1] }), '/data/command'],
    ['types that are a list', ours({ types: ['Date'] }), '/data/types'],
    ['a version that is a string', ours({ version: '1' }), '/data/version'],
    ['a version below 0', ours({ version: -1 }), '/data/version'],
    ['a key __proto__', Buffer.from('{"job":"SendEmail","data":{"a":{"__proto__":{"b":1}}}}'), '__proto__'],
    [
      'a key __proto__ written with an escape',
      Buffer.from('{"job":"SendEmail","data":{"\\u005f_proto__":{}}}'),
      '__proto__',
    ],
    ['515 nested lists', Buffer.from(`{"job":"x","data":${'['.repeat(514)}${']'.repeat(514)}}`), '512 levels'],
  ])('is refused with the reason: %s', (_, text, reason) => {
    expect(() => decodeEnvelope(text)).toThrow(InvalidPayloadError);
    expect(() => decodeEnvelope(text)).toThrow(reason);
  });

  it('is not quoted in the error', () => {
    expect(() => decodeEnvelope(Buffer.from('secret-token'))).toThrow(/^((?!secret).)*$/s);
  });

  it('does not include data nested as deep as a dispatch allows', () => {
    const deep = Array.from({ length: 511 }).reduce<unknown>((inner) => [inner], new Date(0));
    const job = Object.assign(Object.create(SendEmail.prototype) as SendEmail, { deep });
    const text = encodePayload({ definition: definition(), job, chosen: {}, id: 'i', classes });

    expect(decode(Buffer.from(text))).toMatchObject({ deep });
  });

  it('does not include a string that contains __proto__', () => {
    expect({ ...decode(ours({ command: { to: '__proto__' } })) }).toEqual({ to: '__proto__' });
  });
});
