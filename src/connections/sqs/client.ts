/** Creates a client of the AWS SDK from the configuration, and its display name. */
import type { MessageAttributeValue, SQS, SQSClientConfig } from '@aws-sdk/client-sqs';
import { systemClock, StoreClock } from '../../base/clock';
import type { SqsConfig } from './driver';
import { peerError } from '../kit/requirements';

export type Attributes = Readonly<Record<string, MessageAttributeValue>>;

export interface SqsLink {
  readonly client: SQS;
  /** SQS's time by the headers of its answers, cut to whole seconds: never later than it really is. */
  readonly time: StoreClock;
}

/**
 * Opens nothing yet.
 *
 * @throws E_MISSING_PEER
 */
export function openLink(connection: string, { region, endpoint, credentials, options }: SqsConfig): SqsLink {
  const client = new (loadSdk(connection).SQS)({
    ...options,
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials !== undefined && { credentials: credentials as NonNullable<SQSClientConfig['credentials']> }),
    // The caller decides what is repeated: the client would repeat a push that was carried out.
    maxAttempts: 1,
  });
  const time = new StoreClock(systemClock);
  client.middlewareStack.add(
    (next) => async (request) => {
      try {
        const reply = await next(request);
        note(time, reply.response);
        return reply;
      } catch (error) {
        // A refusal tells the time as well; a refusal because of a wrong clock says little else.
        note(time, (error as { readonly $response?: unknown }).$response);
        throw error;
      }
    },
    { step: 'deserialize', name: 'onqueueServerTime' },
  );
  return { client, time };
}

function note(time: StoreClock, response: unknown): void {
  const date = (response as { readonly headers?: Record<string, string> } | undefined)?.headers?.['date'];
  const moment = Date.parse(date ?? '');
  if (!Number.isNaN(moment)) time.told(moment);
}

/** The address, without anything that may be a password. */
export function addressOf({ endpoint, prefix, region }: SqsConfig): string {
  const given = endpoint ?? prefix;
  if (given === undefined) return region === undefined ? 'sqs.amazonaws.com' : `sqs.${region}.amazonaws.com`;
  return given.replace(/\/\/[^/@]*@/, '//');
}

function loadSdk(connection: string): typeof import('@aws-sdk/client-sqs') {
  try {
    // oxlint-disable-next-line typescript/no-require-imports -- loaded when it is first used
    return require('@aws-sdk/client-sqs') as typeof import('@aws-sdk/client-sqs');
  } catch (error) {
    throw peerError({ connection, driver: 'sqs', peer: '@aws-sdk/client-sqs' }, error);
  }
}
