import { Expose, Transform, Type } from 'class-transformer';
import { decodeEnvelope, decodeJob, decodeMiddleware } from '../../src/payload/envelope';
import { InvalidPayloadError, UnserializableValueError } from '../../src/payload/errors';
import { encodePayload, encodeStringJob } from '../../src/payload/payload-text';
import * as fc from '../support/properties';
import { classesOf, definitionOf } from './classes';
import { Vault } from '../../src/payload/vault';

class Part {
  note?: unknown;
}

class Plain {
  handle(): void {}
}

class Mapped {
  @Type(() => Part)
  part?: Part;

  @Transform(({ value }) => JSON.parse(value as string) as unknown, { toClassOnly: true })
  parsed?: unknown;

  handle(): void {}
}

class Renamed {
  @Expose({ name: 'alias' })
  prototype?: unknown;

  handle(): void {}
}

const KNOWN = [Plain, Mapped, Renamed];

const classes = classesOf(new Map(KNOWN.map((known) => [known.name, known])));

function read(text: string, definition = definitionOf(Plain)): object {
  const envelope = decodeEnvelope(Buffer.from(text));
  decodeMiddleware(envelope, classes, new Vault());
  return decodeJob(envelope, definition, classes, new Vault());
}

function send(job: object, more: { extra?: Readonly<Record<string, unknown>>; middleware?: readonly unknown[] } = {}) {
  const definition = definitionOf(job.constructor);
  return encodePayload({ definition, job, chosen: {}, id: 'i', classes, ...more });
}

const KEYS = ['__proto__', 'constructor', 'prototype'];
const key = fc.constantFrom(...KEYS);

/** JSON may write any character as an escape, in either case. */
const spelled = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom('as it is', 'lower', 'upper'), { minLength: name.length, maxLength: name.length })
    .map((ways) =>
      ways
        .map((way, at) => {
          const code = name.charCodeAt(at).toString(16).padStart(4, '0');
          return way === 'as it is' ? name[at]! : `\\u${way === 'lower' ? code : code.toUpperCase()}`;
        })
        .join(''),
    );

/** The places in a payload where a member may stand. */
const PLACES: readonly ((member: string) => string)[] = [
  (member) => `{"job":"Plain",${member},"data":{}}`,
  (member) => `{"job":"Plain","trace":{${member}},"data":{}}`,
  (member) => `{"job":"Plain","data":{${member}}}`,
  (member) => `{"job":"Plain","data":{"a":[1,{"b":{${member}}}]}}`,
  (member) => ours(`{${member}}`),
  (member) => ours(`{"a":{"b":[{${member}}]}}`),
  (member) => ours(`{"a":[["x",{${member}}]]}`, '{"/a":"Map"}'),
  (member) => ours(`{"a":[{${member}}]}`, '{"/a":"Set"}'),
  (member) => ours(`{"a":{${member}}}`, '{"/a":"class:Plain"}'),
  (member) => ours(`{"a":{"message":"",${member}}}`, '{"/a":"Error"}'),
  (member) => `{"job":"Plain","data":{},"middleware":{"command":[{${member}}],"types":{"/0":"class:Plain"}}}`,
];

function ours(command: string, types = '{}'): string {
  return `{"job":"onqueue","data":{"commandName":"Plain","command":${command},"types":${types}}}`;
}

describe('a key that reaches a prototype', () => {
  it('is refused by a worker, however it is spelled and wherever it stands', () => {
    const texts = fc
      .tuple(key.chain(spelled), fc.constantFrom(...PLACES), fc.constantFrom('1', '{"isAdmin":true}'))
      .map(([name, place, value]) => place(`"${name}":${value}`));

    fc.assert(
      fc.property(texts, (text) => {
        expect(() => read(text)).toThrow(InvalidPayloadError);
      }),
      { numRuns: 500 },
    );
  });

  it.each(KEYS)('is refused in the result of upgrade(): %s', (name) => {
    const upgrade = () => ({ nested: [JSON.parse(`{"${name}":1}`)] });
    const definition = definitionOf(Plain, { version: 2, upgrade });

    expect(() => read(ours('{}'), definition)).toThrow(`it has a key ${name}`);
  });

  it.each(KEYS)('is refused in the result of class-transformer: %s', (name) => {
    const definition = definitionOf(Mapped);
    const parsed = JSON.stringify({ parsed: JSON.stringify({ a: JSON.parse(`{"${name}":1}`) as unknown }) });

    expect(() => read(ours(`{"part":{"note":{"${name}":1}}}`), definition)).toThrow(`it has a key ${name}`);
    expect(() => read(ours(parsed), definition)).toThrow(`it has a key ${name}`);
    expect(() => read(ours('{"alias":1}'), definitionOf(Renamed))).toThrow('it has a key prototype');
  });

  it('is refused at dispatch, with its path', () => {
    const holder = (name: string): object => JSON.parse(`{"${name}":1}`) as object;
    const values: readonly ((name: string) => unknown)[] = [
      holder,
      (name) => [[holder(name)]],
      (name) => new Map([[1, holder(name)]]),
      (name) => new Set([holder(name)]),
      (name) => Object.assign(new Plain(), { a: holder(name) }),
      (name) => new Error('x', { cause: holder(name) }),
    ];

    fc.assert(
      fc.property(key, fc.constantFrom(...values), (name, value) => {
        const data = value(name);
        expect(() => send(Object.assign(new Plain(), { data }))).toThrow(UnserializableValueError);
        expect(() => send(new Plain(), { middleware: [Object.assign(new Plain(), { data })] })).toThrow(
          UnserializableValueError,
        );
        expect(() => encodeStringJob({ name: 'a', data: holder(name), id: 'i' })).toThrow(
          `the data of a.${name} is a property of that name`,
        );
        expect(() => send(new Plain(), { extra: { created: { trace: holder(name) } } })).toThrow(
          UnserializableValueError,
        );
        expect(() => send(new Plain(), { extra: { created: holder(name) as Record<string, unknown> } })).toThrow(
          expect.objectContaining({ code: 'E_RESERVED_FIELD' }),
        );
      }),
    );
  });

  it('may be any string value, and a key of a Map', () => {
    const names = new Map(KEYS.map((name) => [name, name]));
    const job = Object.assign(new Plain(), { names, text: '\\u005f\\u005fproto__ __proto__' });

    expect(read(send(job))).toEqual(job);
  });
});
