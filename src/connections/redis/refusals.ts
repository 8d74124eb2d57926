/** Tells apart why Redis, or the way to it, does not do what was asked. */

/** Redis says by one of these words that it will not serve now, or not us; nothing was carried out. */
const UNAVAILABLE =
  /\b(LOADING|READONLY|OOM|MISCONF|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|max number of clients|invalid password)\b/;

const CREDENTIALS = /\b(NOAUTH|WRONGPASS|invalid password)\b/;

/** An error that the server answered, as opposed to one of the connection. Told by its name: ioredis may be there twice. */
export function isReply(error: unknown): error is Error {
  return (error as Partial<Error> | undefined)?.name === 'ReplyError';
}

export function isUnknownScript(error: unknown): boolean {
  return isReply(error) && error.message.startsWith('NOSCRIPT');
}

export function isUnavailable(error: Error): boolean {
  return UNAVAILABLE.test(error.message);
}

/** Asking again cannot help before somebody mends the configuration: wrong credentials, a host that does not exist. */
export function isRefusedForGood(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOTFOUND' || (isReply(error) && CREDENTIALS.test(error.message));
}

/** What the server or the system said; undefined: nothing. An attempt on several addresses speaks through its parts. */
export function wordsOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { message, code, errors } = error as Partial<AggregateError> & NodeJS.ErrnoException;
  return message || errors?.map(wordsOf).join(', ') || code;
}
