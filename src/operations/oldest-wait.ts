/** How long the oldest ready job has waited. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Connection } from '../connections/contract';
import { fenceIn, idAtEnd } from '../payload/counters';
import { READY_AT, readyAtOf } from '../payload/ready-at';

/** Several, because the first jobs may have run before, and those do not say since when they are ready again. */
const LOOKED_AT = 10;

/** Undefined if none is ready, or none of the first ones says since when. */
export async function oldestWait(
  connection: Connection,
  queue: string,
  now: Milliseconds,
): Promise<Seconds | undefined> {
  if (!connection.capabilities.peek) return undefined;
  const first = await connection.peek(queue, 'ready', LOOKED_AT);
  const moments = first.map(({ payload }) => readyAtIn(payload)).filter((moment) => moment !== undefined);
  return moments.length === 0 ? undefined : Math.max(0, now - Math.min(...moments)) / 1000;
}

function readyAtIn(payload: Buffer): Milliseconds | undefined {
  const id = fenceIn(payload) > 0 ? undefined : idAtEnd(payload);
  if (id === undefined) return undefined;
  // Nearly no payload has this field, and payloads may be long.
  return readyAtOf(id, payload.includes(`"${READY_AT}":`) ? saidBy(payload) : undefined);
}

/** The moment does not matter for an unreadable payload. */
function saidBy(payload: Buffer): unknown {
  try {
    return (JSON.parse(payload.toString()) as Readonly<Record<string, unknown>> | null)?.[READY_AT];
  } catch {
    return undefined;
  }
}
