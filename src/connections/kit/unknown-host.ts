/** No address is known for the name of a server's host. Asking again cannot help before somebody mends the name. */

/** What to do about it, as a sentence. */
export const UNKNOWN_HOST_REMEDY = 'Check the name of its host.';

export function isUnknownHost(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null | undefined)?.code === 'ENOTFOUND';
}
