/** What pages do about errors of stores that must not hide everything else. */
import { OnqueueError } from '../base/onqueue-error';
import { redact } from '../base/redact';
import { CapabilityError } from '../connections/errors';
import { noRecords } from '../operations/errors';

/** What was found on one connection; or its trouble. */
export type Seen<Found> =
  | { readonly connection: string; readonly found: Found; readonly trouble?: undefined }
  | { readonly connection: string; readonly found?: undefined; readonly trouble: string };

/**
 * Reads from several connections: one unreachable store must not hide the others. @param isAlone whether the page shows nothing
 * else, so that the trouble is that of the page
 */
export function readEach<Found>(
  connections: readonly string[],
  isAlone: boolean,
  read: (connection: string) => Promise<Found>,
): Promise<readonly Seen<Found>[]> {
  const look = async (connection: string): Promise<Seen<Found>> => {
    try {
      return { connection, found: await read(connection) };
    } catch (error) {
      if (isAlone || !(error instanceof OnqueueError)) throw error;
      return { connection, trouble: redact(error.message) };
    }
  };
  return Promise.all(connections.map(look));
}

/** What was read, or `instead` of it if the error is one of those expected. */
export async function readOr<Value, Instead>(
  read: () => Promise<Value>,
  instead: Instead,
  ...expected: readonly ((error: unknown) => boolean)[]
): Promise<Value | Instead> {
  try {
    return await read();
  } catch (error) {
    if (expected.some((isExpected) => isExpected(error))) return instead;
    throw error;
  }
}

/** The store cannot do this. */
export const isIncapable = (error: unknown): boolean => error instanceof CapabilityError;

/** No store keeps records for this connection. */
export const isUnrecorded = (error: unknown): boolean => noRecords.is(error);
