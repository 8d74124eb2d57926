/** What the commands for schedules share: how they open the project, and how they show a schedule. */
import type { QueueManager } from '../application/queue-manager';
import type { Milliseconds } from '../base/clock';
import { oneLine } from '../base/plain-text';
import type { ScheduleListing } from '../schedule/schedules';
import type { Call } from './command';
import type { ProjectFlags } from './flags';
import { agoText, spanText } from './moments';
import { keepingConnections, noteMemory } from './named-queues';
import { type Cell, counted } from './table';

export const SCHEDULE_WORD = ['<schedule>', 'the name of the schedule, as listed by onqueue schedule:list'] as const;

/** Opens the project for its schedules. */
export async function openForSchedules(call: Call<ProjectFlags>): Promise<QueueManager> {
  const manager = await call.open();
  noteMemory(call, manager, keepingConnections(manager));
  return manager;
}

export const SCHEDULE_HEADINGS = ['schedule', 'when', 'next', 'last', 'state'];

export function scheduleRow(listing: ScheduleListing, now: Milliseconds): Cell[] {
  const { name, spec, declared, next, last } = listing;
  return [
    name,
    declared?.cadence ?? spec,
    next === undefined ? '–' : `in ${spanText(Math.max(next.getTime() - now, 0))}`,
    last === undefined ? 'never yet' : agoText(last, now),
    stateText(listing, now),
  ];
}

/** The JSON of a schedule. */
export function scheduleDocument({ declared, isKept, isOrphan, problem, ...listing }: ScheduleListing): object {
  return { ...listing, ...declared, kept: isKept, orphan: isOrphan, problem: problem?.message };
}

/** A worker should keep it, but none does. */
export function isNeglected({ declared, isKept, problem }: ScheduleListing): boolean {
  return declared !== undefined && !isKept && problem === undefined;
}

function stateText({ pausedAt, isKept, isOrphan, skipped, problem }: ScheduleListing, now: Milliseconds): string {
  const words = [
    problem === undefined ? '' : oneLine(problem.message),
    pausedAt === undefined ? '' : `paused ${agoText(pausedAt, now)}`,
    isOrphan ? 'orphan: no longer declared' : isKept || problem !== undefined ? '' : 'no worker keeps it',
    skipped === 0 ? '' : `${counted(skipped, 'occurrence')} skipped`,
  ].filter((word) => word !== '');
  return words.length === 0 ? 'kept' : words.join(', ');
}
