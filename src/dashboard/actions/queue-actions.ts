/** What can be done with a queue. */
import type { Action } from './actions';
import { fieldOf } from './form-fields';

const queueIn = (form: URLSearchParams) => {
  const [connection, queue] = [fieldOf(form, 'connection'), fieldOf(form, 'queue')];
  return { connection, queue, fields: { connection, queue } };
};

export const pauseQueue: Action = {
  async run(form, { manager }) {
    const { connection, queue, fields } = queueIn(form);
    const isNew = await manager.connection(connection).pause(queue);
    const undo = { action: 'resume-queue', fields, label: 'Resume' };
    return isNew
      ? { text: `${queue} is paused: what runs goes on, and what waits stays.`, undo }
      : { text: `${queue} was paused already.`, undo };
  },
};

export const resumeQueue: Action = {
  async run(form, { manager }) {
    const { connection, queue, fields } = queueIn(form);
    const wasPaused = await manager.connection(connection).resume(queue);
    if (!wasPaused) return { text: `${queue} was not paused.` };
    return { text: `${queue} goes on.`, undo: { action: 'pause-queue', fields, label: 'Pause again' } };
  },
};
