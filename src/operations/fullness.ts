/** Why a job that is ready waits although workers are free: its queue or its lane is full, or its lane is paused. */
import type { Connection } from '../connections/contract';
import { readTies } from '../payload/ties';
import type { FoundJob } from './found-job';

/** A clause; undefined if there is no such reason. Asks for its lane and its queue only. */
export async function fullness(
  { lanes, queues, control }: Connection,
  { state, queue, payload }: Pick<FoundJob, 'state' | 'queue' | 'payload'>,
): Promise<string | undefined> {
  if (state !== 'ready' || queue === undefined || payload === undefined) return undefined;
  // A text that no worker can read is shown as such.
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const key = readTies(Buffer.from(text))?.lane?.key;
  const lane = key === undefined ? undefined : await lanes?.find(queue, key);
  if (lane !== undefined && lane.held > 0) {
    if (lane.paused) return `its lane ${lane.lane} is paused`;
    // Ready jobs of a lane have a place in it too, so that this one may be among them.
    const { inside, running, held } = lane;
    if (inside >= running)
      return `its lane ${lane.lane} is full: ${inside} of ${running} running or next, and ${held} held`;
  }
  const limit = (await control?.limits?.())?.find((one) => one.queue === queue);
  if (limit === undefined) return undefined;
  const { reserved } = await queues.counts(queue);
  return reserved < limit.running ? undefined : `its queue is full: ${reserved} of ${limit.running} running`;
}
