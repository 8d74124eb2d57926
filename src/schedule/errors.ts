/** Errors of schedules. */
import { defineError } from '../base/onqueue-error';
import { nearest, invalidValue } from '../base/text';

/** An invalid schedule. `subject`: the call that was given the value. */
export const invalidSchedule = defineError('E_INVALID_SCHEDULE', invalidValue);

/** A schedule's builder was called when the schedule was complete: in a later turn than `Queue.schedule()`. */
export const scheduleDeclared = defineError('E_SCHEDULE_DECLARED', (name: string, call: string) => ({
  message:
    `The schedule '${name}' is complete: ${call}() came too late. Say all of it in one statement: ` +
    "Queue.schedule(() => new Prune()).daily().at('03:00').",
  facts: { name, call },
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
