/** Calls SQS through a client of the AWS SDK, and explains what a failure means. */
import type { SQS, MessageAttributeValue, SQSClientConfig } from '@aws-sdk/client-sqs';
import { foreignText } from '../../base/foreign-error';
import { errorMessage } from '../../base/exception-text';
import { StoreCaller, type CallerSettings, type CallFailure, type Purpose, type Verdict } from '../kit/caller';
import { sqsQueueMissing, sqsReply } from './errors';
import { systemClock, StoreClock, within, Silence, type Milliseconds } from '../../base/clock';
import { problemOfCredentials, type SqsConfig, type SqsCredentials } from './driver';
import { peerError } from '../kit/requirements';

export interface Request extends Purpose {
  readonly operation: string;
  /** The queue's name or URL, for display. */
  readonly queue: string;
  /** Ends the call from outside. */
  readonly signal?: AbortSignal | undefined;
}

/** One call of the API. */
export type Send<Output> = (client: SQS, options: { readonly abortSignal: AbortSignal }) => Promise<Output>;

/** Part of the deadline: a request takes longer than one to a server nearby. */
const SHORTEST_ATTEMPT = 1 / 5;

export class SqsCaller extends StoreCaller<Request> {
  protected readonly store = 'SQS';
  readonly link: SqsLink;

  constructor(link: SqsLink, settings: CallerSettings) {
    super(settings, settings.deadline * 1000 * SHORTEST_ATTEMPT);
    this.link = link;
  }

  /** @throws QueueUnavailableError, E_SQS_QUEUE_MISSING, E_SQS_REPLY */
  call<Output>(request: Request, send: Send<Output>): Promise<Output> {
    return this.insist(request, async (milliseconds) => {
      const ending = new AbortController();
      const { signal = ending.signal, waits } = request;
      try {
        const sent = send(this.link.client, { abortSignal: AbortSignal.any([signal, ending.signal]) });
        // A request that only waits for work does not keep the process alive.
        return await within(this.settings.clock, milliseconds, sent, waits === undefined);
      } catch (error) {
        ending.abort();
        throw error;
      }
    });
  }

  /** The error of one entry of a batch, or of a whole call. */
  replyError({ operation, queue, consequence }: Request, reply: string, said: string, cause?: unknown): Error {
    const { name: connection, address } = this.settings;
    const message = foreignText(said);
    return sqsReply({ connection, address, operation, queue, consequence, reply, message }, { cause });
  }

  protected verdictOn(error: unknown, { signal }: Request): Verdict {
    return signal?.aborted === true ? 'final' : verdictOn(error);
  }

  protected explain({ error, verdict, late, uncertain }: CallFailure, request: Request): Error {
    const { name: connection, address } = this.settings;
    const { queue, consequence } = request;
    const thrown = error as Thrown;
    if (isMissingQueue(thrown)) {
      return sqsQueueMissing({ connection, address, queue, consequence }, { cause: thrown });
    }
    if (verdict === 'final' && isReply(thrown) && !isUnusable(thrown)) {
      return this.replyError(request, codeOf(thrown), thrown.message ?? '', thrown);
    }
    const said = isReply(thrown) && { reason: foreignText(`${codeOf(thrown)}: ${thrown.message ?? ''}`) };
    const refused = isReply(thrown) || isUnusable(thrown);
    return this.unavailable({ consequence, error, late, uncertain, refused, remedy: remedyOf(thrown), ...said });
  }
}

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
    // A long poll of each queue takes a socket, and must leave one for renewals and outcomes.
    requestHandler: { httpAgent: { maxSockets: Infinity }, httpsAgent: { maxSockets: Infinity } },
    ...options,
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials !== undefined && {
      credentials: (typeof credentials === 'function' ? renewing(credentials) : credentials) as Credentials,
    }),
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

type Credentials = NonNullable<SQSClientConfig['credentials']>;

/** The SDK asks again five minutes before credentials expire, and never if they do not say when. */
const TRUSTED: Milliseconds = 600_000;

function renewing(give: () => Promise<SqsCredentials>): () => Promise<SqsCredentials> {
  return async () => {
    try {
      const given = await give();
      const problem = problemOfCredentials(given);
      if (problem !== undefined) throw new TypeError(problem);
      return { ...given, expiration: given.expiration ?? new Date(systemClock.now() + TRUSTED) };
    } catch (error) {
      // As providers of the SDK say it: nothing was sent.
      throw Object.assign(new Error(errorMessage(error), { cause: error }), { name: 'CredentialsProviderError' });
    }
  };
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

/** What the SDK throws for an error answer, or for a missing one. */
export interface Thrown {
  readonly name?: string;
  readonly message?: string;
  /** The code of a system call: `ECONNREFUSED`. */
  readonly code?: string;
  /** The code of an answer in the older protocol, which is better known. */
  readonly Code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly errors?: readonly unknown[];
}

const THROTTLED =
  /Throttl|TooManyRequests|RequestLimitExceeded|SlowDown|LimitExceededException|BandwidthLimitExceeded|RequestThrottled/;

const CREDENTIALS =
  /CredentialsProviderError|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|ExpiredToken|TokenRefreshRequired|MissingAuthenticationToken|AccessDenied|InvalidSecurity|IncompleteSignature|RequestExpired|OptInRequired|InvalidAccessKeyId/;

const MISSING_QUEUE = /QueueDoesNotExist|NonExistentQueue|InvalidAddress/;

/** Nobody was reached: nothing was sent. */
const UNSENT = /\b(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN)\b/;

/** The receipt is worthless: the message was deleted, or its time is over. */
const LOST_RECEIPT = /^(ReceiptHandleIsInvalid|InvalidParameterValue|MessageNotInflight)$/;

/** `AWS.SimpleQueueService.MessageNotInflight` and `MessageNotInflight` mean the same. */
export function codeOf({ Code, name = 'Error' }: Thrown): string {
  return (Code ?? name).replace('AWS.SimpleQueueService.', '');
}

export function isReply({ $metadata }: Thrown): boolean {
  return $metadata?.httpStatusCode !== undefined;
}

export function verdictOn(error: unknown): Verdict {
  if (error instanceof Silence) return 'lost';
  const thrown = error as Thrown;
  const status = thrown.$metadata?.httpStatusCode;
  if (status === undefined) {
    if (isUnsent(thrown)) return 'passing';
    return isUnusable(thrown) ? 'final' : 'lost';
  }
  if (isThrottled(thrown) || status === 503) return 'passing';
  // An answer that nobody can read may follow a request that was carried out.
  return (status < 300 || status >= 500) && !isUnusable(thrown) ? 'lost' : 'final';
}

export function isThrottled(thrown: Thrown): boolean {
  return thrown.$metadata?.httpStatusCode === 429 || isNamed(THROTTLED, thrown);
}

export function isMissingQueue(thrown: Thrown): boolean {
  return MISSING_QUEUE.test(codeOf(thrown));
}

export function isLostReceipt(code: string | undefined): boolean {
  return code !== undefined && LOST_RECEIPT.test(code);
}

/** SQS no longer repeats the result of a receive with this id: its lease has ended, or somebody has changed it. */
export function isSpentAttempt(error: unknown): boolean {
  const thrown = error as Thrown;
  return isReply(thrown) && /\bReceiveRequestAttemptId\b/.test(thrown.message ?? '');
}

/** Asking is useless until somebody fixes the configuration. */
export function isUnusable(thrown: Thrown): boolean {
  return isNamed(CREDENTIALS, thrown) || isWithoutRegion(thrown);
}

/** The remedy, as a sentence. */
export function remedyOf(thrown: Thrown): string | undefined {
  if (isWithoutRegion(thrown)) return "Give region, such as 'eu-west-1', or set AWS_REGION.";
  if (isNamed(CREDENTIALS, thrown)) {
    return 'Check the credentials (credentials in the configuration, or those that the AWS SDK finds) and their permissions on the queue.';
  }
  return isThrottled(thrown) ? 'Send fewer requests at once, or ask AWS for a higher quota.' : undefined;
}

function isNamed(names: RegExp, thrown: Thrown): boolean {
  return names.test(codeOf(thrown)) || names.test(thrown.name ?? '');
}

function isWithoutRegion({ message = '' }: Thrown): boolean {
  return /^Region (is missing|not accepted)/.test(message);
}

// Also checks the message: the SDK keeps nothing else of an error of another realm, as in a test runner's sandbox.
function isUnsent({ code = '', message = '', errors = [] }: Thrown): boolean {
  return UNSENT.test(`${code} ${message}`) || errors.some((part) => isUnsent(part as Thrown));
}
