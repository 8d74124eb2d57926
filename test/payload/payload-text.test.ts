import * as fc from '../support/properties';
import type { ChosenOptions } from '../../src/job/options';
import { decodeEnvelope, decodeJob } from '../../src/payload/envelope';
import { encodePayload, encodeStringJob } from '../../src/payload/payload-text';
import type { PayloadParts } from '../../src/payload/payload-text';
import { UnserializableValueError } from '../../src/payload/errors';
import { differences } from './exactly';
import { anyFields } from './values';
import { classesOf, definitionOf } from './classes';
import { Vault } from '../../src/payload/vault';

class ProcessPodcast {
  podcastId = 42;
  publishAt = new Date('2026-11-21');
}

const definition = definitionOf(ProcessPodcast);
const classes = classesOf();

const encode = (parts: Partial<PayloadParts> = {}): string =>
  encodePayload({ definition, job: new ProcessPodcast(), chosen: {}, id: '0193', classes, ...parts });

describe('the payload of a job class', () => {
  it('matches the documented format to the byte', () => {
    expect(encode()).toBe(
      '{"displayName":"ProcessPodcast","job":"onqueue",' +
        '"data":{"commandName":"ProcessPodcast","command":{"podcastId":42,"publishAt":"2026-11-21T00:00:00.000Z"},"types":{"/publishAt":"Date"}},' +
        '"id":"0193","attempts":0}',
    );
  });

  it('has no types if JSON can hold all its values', () => {
    expect(encode({ job: Object.create(ProcessPodcast.prototype) as object })).toBe(
      '{"displayName":"ProcessPodcast","job":"onqueue","data":{"commandName":"ProcessPodcast","command":{}},"id":"0193","attempts":0}',
    );
  });

  it('carries the version of its class', () => {
    expect(encode({ definition: { ...definition, version: 3 } })).toContain(
      '"types":{"/publishAt":"Date"},"version":3}',
    );
  });

  it('carries the chosen options under the names of Laravel, and no others', () => {
    const chosen: ChosenOptions = {
      tries: 0,
      maxExceptions: 2,
      failOnTimeout: true,
      backoff: { delays: [10, 0.5], jitter: 0.25 },
      timeout: 90,
      retryUntil: 1_763_683_200_500,
      maxCrashes: 1,
    };

    expect(encode({ chosen })).toContain(
      '},"maxTries":0,"maxExceptions":2,"failOnTimeout":true,"backoff":"10,0.5","jitter":0.25,"timeout":90,' +
        '"retryUntil":1763683200.5,"maxCrashes":1,"id":',
    );
    expect(decodeEnvelope(Buffer.from(encode({ chosen }))).chosen).toEqual(chosen);
  });

  it('carries the fields of createPayloadUsing except undefined ones', () => {
    expect(encode({ extra: { created: { trace: { id: 't1' }, tenant: undefined } } })).toContain(
      '},"trace":{"id":"t1"},"id":',
    );
    expect(encode({ extra: { created: { tenant: undefined } } })).toBe(encode());
  });

  it.each([
    'id',
    'uuid',
    'job',
    'data',
    'displayName',
    'middleware',
    'attempts',
    'crashes',
    'exceptions',
    'releases',
    'maxTries',
    'timeoutAt',
    'fenceAtRetry',
  ])('does not let createPayloadUsing set %s', (field) => {
    expect(() => encode({ extra: { created: { [field]: 'x' } } })).toThrow(
      expect.objectContaining({ code: 'E_RESERVED_FIELD' }),
    );
  });

  it('names the source of a field that is reserved or cannot be carried', () => {
    const of = (created: object, observed: object) => () => encode({ extra: { created, observed } } as object);

    expect(of({ tenant: 1 }, { attempts: 2 })).toThrow("an observer's dispatching() gave the payload of ");
    expect(of({ attempts: 2 }, { tenant: 1 })).toThrow('createPayloadUsing() gave the payload of ');
    expect(of({}, { span: new Date(0) })).toThrow("an observer's dispatching().span is of type Date");
    expect(encode({ extra: { created: { tenant: 1 }, observed: { tenant: 2 } } })).toContain('},"tenant":2,"id":');
  });

  it('does not let createPayloadUsing set fields that would make it unreadable', () => {
    const extra = JSON.parse('{"__proto__":1}') as Record<string, unknown>;

    expect(() => encode({ extra: { created: extra } })).toThrow(expect.objectContaining({ code: 'E_RESERVED_FIELD' }));
    expect(() => encode({ extra: { created: { at: { when: [new Date(0)] } } } })).toThrow(
      'createPayloadUsing().at.when[0] is of type Date',
    );
  });

  it('is refused with the job and the path of a value that cannot be carried', () => {
    const job = Object.assign(new ProcessPodcast(), { done: () => 1 });

    expect(() => encode({ job })).toThrow('ProcessPodcast.done is a function, which a queue cannot carry.');
    expect(() => encode({ middleware: [() => 1] })).toThrow('ProcessPodcast.through()[0] is a function');
  });

  it('is well-formed Unicode and restores any data exactly', () => {
    fc.assert(
      fc.property(anyFields, fc.string(), (fields, name) => {
        const job = Object.assign(Object.create(ProcessPodcast.prototype) as object, fields);

        const text = encode({ job, definition: { ...definition, name: `${name}\ud800` } });

        expect(text.isWellFormed()).toBe(true);
        const back = decodeJob(decodeEnvelope(Buffer.from(text)), definition, classes, new Vault());
        expect(differences(back, job)).toEqual([]);
      }),
      { numRuns: 80 },
    );
  });
});

describe('the payload of a string job', () => {
  it('is what a Laravel worker understands', () => {
    const text = encodeStringJob({
      name: 'App\\Jobs\\SendEmail@handle',
      data: { to: ['ada'] },
      id: '0193',
      extra: { created: { trace: 't1' } },
    });

    expect(text).toBe(
      '{"uuid":"0193","displayName":"App\\\\Jobs\\\\SendEmail","job":"App\\\\Jobs\\\\SendEmail@handle",' +
        '"data":{"to":["ada"]},"trace":"t1","id":"0193","attempts":0}',
    );
  });

  it('can be read back', () => {
    const envelope = decodeEnvelope(
      Buffer.from(encodeStringJob({ name: 'ProcessPodcast', data: { podcastId: 7 }, id: 'i' })),
    );

    expect(envelope).toMatchObject({ kind: 'string', name: 'ProcessPodcast', id: 'i', chosen: {} });
    expect(decodeJob(envelope, definition, classes, new Vault())).toMatchObject({ podcastId: 7 });
  });

  it('has null for missing data', () => {
    expect(encodeStringJob({ name: 'Clean', data: undefined, id: 'i' })).toContain('"data":null,');
  });

  it('is refused with the path of a value that JSON does not have', () => {
    const encode = (data: unknown): string => encodeStringJob({ name: 'Clean@up', data, id: 'i' });

    expect(() => encode({ list: [0, { at: new Date(0) }] })).toThrow(UnserializableValueError);
    expect(() => encode({ list: [0, { at: new Date(0) }] })).toThrow('the data of Clean@up.list[1].at is of type Date');
  });

  it.each<unknown>(['', '@handle', 'Clean@', 'a@b@c', 'onqueue', 'onqueue+', undefined])(
    'is refused with the name %j',
    (name) => {
      expect(() => encodeStringJob({ name: name as string, data: {}, id: 'i' })).toThrow(
        expect.objectContaining({ code: 'E_INVALID_JOB_NAME' }),
      );
    },
  );
});
