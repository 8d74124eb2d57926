/** Tells apart why SQS, or the way to it, does not do what was asked. */

/** What the SDK throws for an answer of the service, or for none. */
export interface Thrown {
  readonly name?: string;
  readonly message?: string;
  /** Of a system call: `ECONNREFUSED`. */
  readonly code?: string;
  /** Of an answer: the code of the older protocol, which is better known. */
  readonly Code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly errors?: readonly unknown[];
}

const THROTTLED =
  /Throttl|TooManyRequests|RequestLimitExceeded|SlowDown|LimitExceededException|BandwidthLimitExceeded|RequestThrottled/;

const CREDENTIALS =
  /CredentialsProviderError|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|ExpiredToken|TokenRefreshRequired|MissingAuthenticationToken|AccessDenied|InvalidSecurity|IncompleteSignature|RequestExpired|OptInRequired|InvalidAccessKeyId/;

const MISSING_QUEUE = /QueueDoesNotExist|NonExistentQueue|InvalidAddress/;

const PURGING = /PurgeQueueInProgress/;

/** Nobody was reached: nothing was sent. */
const UNSENT = /\b(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN)\b/;

/** A receipt that is worth nothing any more: the message was deleted, or its time is over. */
const LOST_RECEIPT = /^(ReceiptHandleIsInvalid|InvalidParameterValue|MessageNotInflight)$/;

/** `AWS.SimpleQueueService.MessageNotInflight` and `MessageNotInflight` are one. */
export function codeOf(thrown: Thrown): string {
  return (thrown.Code ?? thrown.name ?? 'Error').replace('AWS.SimpleQueueService.', '');
}

/** SQS answered. */
export function isReply({ $metadata }: Thrown): boolean {
  return $metadata?.httpStatusCode !== undefined;
}

export function isThrottled(thrown: Thrown): boolean {
  return (
    thrown.$metadata?.httpStatusCode === 429 || THROTTLED.test(codeOf(thrown)) || THROTTLED.test(thrown.name ?? '')
  );
}

/** Nothing was carried out, and asking again may help. */
export function isPassing(thrown: Thrown): boolean {
  if (isThrottled(thrown) || thrown.$metadata?.httpStatusCode === 503) return true;
  return !isReply(thrown) && isUnsent(thrown);
}

/** It may have been carried out all the same. */
export function isUncertain(thrown: Thrown): boolean {
  if (isPassing(thrown) || isCredentials(thrown) || isRegion(thrown)) return false;
  return !isReply(thrown) || (thrown.$metadata?.httpStatusCode ?? 0) >= 500;
}

export function isCredentials(thrown: Thrown): boolean {
  return CREDENTIALS.test(codeOf(thrown)) || CREDENTIALS.test(thrown.name ?? '');
}

export function isRegion({ message }: Thrown): boolean {
  return message === 'Region is missing';
}

export function isMissingQueue(thrown: Thrown): boolean {
  return MISSING_QUEUE.test(codeOf(thrown));
}

export function isPurging(code: string): boolean {
  return PURGING.test(code);
}

export function isLostReceipt(code: string): boolean {
  return LOST_RECEIPT.test(code);
}

/** What somebody can do about it, as a sentence; undefined: nothing tells. */
export function remedyOf(thrown: Thrown): string | undefined {
  if (isRegion(thrown)) return "Give region, such as 'eu-west-1', or set AWS_REGION.";
  if (isCredentials(thrown)) {
    return 'Check the credentials (credentials in the configuration, or those that the AWS SDK finds) and their permissions on the queue.';
  }
  return isThrottled(thrown) ? 'Send fewer requests at once, or ask AWS for a higher quota.' : undefined;
}

/** What the service or the system said. An attempt on several addresses speaks through its parts. */
export function wordsOf(thrown: Thrown): string | undefined {
  if (isReply(thrown)) return `${codeOf(thrown)}: ${thrown.message ?? ''}`;
  return thrown.message || thrown.errors?.map((part) => wordsOf(part as Thrown)).join(', ') || thrown.code;
}

// By the message too: the SDK keeps nothing else of an error of another realm, as in a test runner's sandbox.
function isUnsent({ code = '', message = '', errors = [] }: Thrown): boolean {
  return UNSENT.test(`${code} ${message}`) || errors.some((part) => isUnsent(part as Thrown));
}
