/** The `sqs` driver, as it is configured and loaded. */
import { STORE_KEYS } from '../../application/configuration/configuration';
import * as value from '../../application/configuration/configuration-values';
import { problemOfAddress } from '../kit/requirements';
import { JOBS_ALONE, type StoreConfig, type Check, type Driver, type Store } from '../driver';

/** A payload as it is sent: `displayName`, `data`, what `createPayloadUsing` added, … */
export type SqsPayload = Readonly<Record<string, unknown>>;

export interface SqsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** When they expire: a function is asked for new ones five minutes before, and without it every five minutes. */
  readonly expiration?: Date | undefined;
}

/** Amazon SQS, through `@aws-sdk/client-sqs`. */
export interface SqsConfig extends StoreConfig {
  readonly driver: 'sqs';
  /** The region of the queues: `eu-west-1`. Default: what the AWS SDK finds (`AWS_REGION`, a profile). */
  readonly region?: string | undefined;
  /** The address of another service with the protocol of SQS. Default: that of the region. */
  readonly endpoint?: string | undefined;
  /** The beginning of the queues' URLs: `https://sqs.eu-west-1.amazonaws.com/123456789012`. Default: SQS is asked for the URL of each name (`sqs:GetQueueUrl`). */
  readonly prefix?: string | undefined;
  /** Suffix of each queue's name, before `.fifo`: `-staging`. Default: none. */
  readonly suffix?: string | undefined;
  /** `{ accessKeyId, secretAccessKey, sessionToken }`, or a function that returns them, and is asked again. Default: what the AWS SDK finds (the environment, a profile, the role of the machine). */
  readonly credentials?: SqsCredentials | (() => Promise<SqsCredentials>) | undefined;
  /**
   * Returns the message group of a job. On a FIFO queue the jobs of one group run one after the other; on a standard queue, groups
   * share workers fairly. Default: on a FIFO queue the queue's name, on others none; also if it returns undefined.
   */
  readonly group?: ((payload: SqsPayload) => string | undefined) | undefined;
  /** Returns a key, on a FIFO queue: of jobs with the same key that are dispatched within five minutes, SQS keeps the first. Default: all are kept. */
  readonly deduplicate?: ((payload: SqsPayload) => string | undefined) | undefined;
  /** Further options of the SDK's `SQSClient`: `{ requestHandler: { httpsAgent: … } }`. Default: none. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
}

declare module '../driver' {
  interface Drivers {
    sqs: SqsConfig;
  }
}

const withScheme = value.address(/^https?:\/\//, 'https://sqs.eu-west-1.amazonaws.com');

const webAddress: Check = (given) => withScheme(given) ?? problemOfAddress(given as string);

export const problemOfCredentials: Check = (given) => {
  const { accessKeyId, secretAccessKey } = Object(given) as Record<string, unknown>;
  return typeof accessKeyId === 'string' && typeof secretAccessKey === 'string'
    ? undefined
    : 'expected { accessKeyId, secretAccessKey }, or a function that gives them';
};

export const SQS: Store = {
  // FIFO queues keep an order within each group.
  capabilities: { ...JOBS_ALONE.capabilities, exactCounts: false, order: false },
  lacks: JOBS_ALONE.lacks,
};

export const sqsDriver: Driver<SqsConfig> = {
  name: 'sqs',
  keys: {
    ...STORE_KEYS,
    region: { check: value.text },
    endpoint: { check: webAddress },
    prefix: { check: webAddress },
    suffix: { check: value.text },
    credentials: { check: (given) => (typeof given === 'function' ? undefined : problemOfCredentials(given)) },
    group: { check: value.callback },
    deduplicate: { check: value.callback },
    options: { check: value.object },
  },
  stores: { sqs: SQS },
  connect: (config, context) => {
    const { SqsConnection } = require('./connection') as typeof import('./connection');
    return new SqsConnection(config, context);
  },
};
