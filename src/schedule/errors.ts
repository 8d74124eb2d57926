/** Errors of schedules. */
import { defineError } from '../base/onqueue-error';
import { nearest, invalidValue } from '../base/text';

/** An invalid schedule. `subject`: the call that was given the value. */
export const invalidSchedule = defineError('E_INVALID_SCHEDULE', invalidValue);

/**
 * A schedule's builder was called when the schedule was complete: in a later turn than `Queue.schedule()`. Or a schedule that is
 * declared was to be stored or removed. `origin`: where it is declared.
 */
export const scheduleDeclared = defineError('E_SCHEDULE_DECLARED', (name: string, call: string, origin?: string) => ({
  message:
    origin === undefined
      ? `The schedule '${name}' is complete: ${call}() came too late. Write all of it in one statement: ` +
        "Queue.schedule(() => new Prune()).daily().at('03:00')."
      : `The schedule '${name}' is declared by ${origin}, and ${call}() changes only stored ones. Change the declaration, or ` +
        'give the stored one another name.',
  facts: { name, call, origin },
}));

/** As many schedules are stored as one store may keep. */
export const tooManySchedules = defineError('E_TOO_MANY_SCHEDULES', (most: number) => ({
  message:
    `There are ${most} stored schedules, the most that a store keeps, because each worker reads all of them every ten seconds. Remove ` +
    'some, or let one schedule send the jobs of many users; what is due once is a delayed job.',
  facts: { most },
}));

/** No schedule with this name is declared in this process or stored. */
export const unknownSchedule = defineError('E_UNKNOWN_SCHEDULE', (name: string, known: readonly string[]) => {
  const [meant] = nearest(name, known, 1);
  const all = known.length === 0 ? 'there are none' : `there are ${known.join(', ')}`;
  const hint = meant === undefined ? `${all}. The file that declares it has to be loaded.` : `did you mean '${meant}'?`;
  return {
    message: `No schedule '${name}' is declared here; ${hint}`,
    facts: { name, known },
  };
});
