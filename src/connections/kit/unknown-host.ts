/** A server's host name is unknown. Asking again cannot help until somebody fixes the name. */

/** The remedy, as a sentence. */
export const UNKNOWN_HOST_REMEDY = 'Check the name of its host.';

export function isUnknownHost(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null | undefined)?.code === 'ENOTFOUND';
}
