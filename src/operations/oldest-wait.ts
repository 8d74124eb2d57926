/** How long the oldest of the jobs that are ready has waited. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Connection } from '../connections/contract';
import { fenceIn, idAtEnd } from '../payload/counters';
import { READY_AT, readyAtOf } from '../payload/ready-at';

/** Those at the head of a queue may have run before: since when they are ready again they do not say. */
const LOOKED_AT = 10;

/** Undefined: none is ready, or none of the first ones says since when. */
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
  // Nearly none has it, and texts may be long.
  return readyAtOf(id, payload.includes(`"${READY_AT}":`) ? saidBy(payload) : undefined);
}

/** Of one that nobody can read, when it is ready is of no interest. */
function saidBy(payload: Buffer): unknown {
  try {
    return (JSON.parse(payload.toString()) as Readonly<Record<string, unknown>> | null)?.[READY_AT];
  } catch {
    return undefined;
  }
}
