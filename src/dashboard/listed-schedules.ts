/** The schedules for pages that show other things as well: an unreachable store takes only these from them. */
import { isStoreAway } from '../connections/errors';
import type { ScheduleListing } from '../schedule/schedules';
import type { PageContext } from './view';

export async function schedulesOf({ manager, lookout }: PageContext): Promise<readonly ScheduleListing[]> {
  try {
    return await lookout.see('schedule list', () => manager.schedules.list());
  } catch (error) {
    if (isStoreAway(error)) return [];
    throw error;
  }
}
