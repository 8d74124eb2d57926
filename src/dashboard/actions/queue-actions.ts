/** What can be done with a queue. */
import type { Duration } from '../../job/duration';
import type { Action } from './actions';
import { fieldOf } from './form-fields';

const queueIn = (form: URLSearchParams) => {
  const [connection, queue] = [fieldOf(form, 'connection'), fieldOf(form, 'queue')];
  return { connection, queue, fields: { connection, queue } };
};

export const pauseQueue: Action = {
  async run(form, { manager }) {
    const { connection, queue, fields } = queueIn(form);
    const time = form.get('for') ?? undefined;
    const isNew = await manager.connection(connection).pause(queue, { for: time as Duration | undefined });
    const undo = { action: 'resume-queue', fields, label: 'Resume' };
    return isNew
      ? {
          text: `${queue} is paused${time === undefined ? '' : ` for ${time}`}: running jobs go on, waiting ones stay.`,
          undo,
        }
      : { text: `${queue} was already paused; the pause now ends as you have just said.`, undo };
  },
};

export const resumeQueue: Action = {
  async run(form, { manager }) {
    const { connection, queue, fields } = queueIn(form);
    const wasPaused = await manager.connection(connection).resume(queue);
    if (!wasPaused) return { text: `${queue} was not paused.` };
    return { text: `${queue} is resumed.`, undo: { action: 'pause-queue', fields, label: 'Pause again' } };
  },
};
