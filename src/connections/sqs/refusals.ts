/** Classifies why SQS, or the connection to it, did not do what was asked. */
import { Silence, type Verdict } from '../kit/caller';

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
  return status >= 500 && !isUnusable(thrown) ? 'lost' : 'final';
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

function isWithoutRegion({ message }: Thrown): boolean {
  return message === 'Region is missing';
}

// Also checks the message: the SDK keeps nothing else of an error of another realm, as in a test runner's sandbox.
function isUnsent({ code = '', message = '', errors = [] }: Thrown): boolean {
  return UNSENT.test(`${code} ${message}`) || errors.some((part) => isUnsent(part as Thrown));
}
