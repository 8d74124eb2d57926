/** What can be done with a queue, with a lane and with a schedule. */
import type { Duration } from '../../job/duration';
import { address } from '../addresses';
import { html } from '../html';
import { type Action, type ActionContext, fieldOf } from './action';

const queueIn = (form: URLSearchParams) => {
  const [connection, queue] = [fieldOf(form, 'connection'), fieldOf(form, 'queue')];
  return { connection, queue, fields: { connection, queue } };
};

export const QUEUE_ACTIONS: Readonly<Record<string, Action>> = {
  'pause-queue': {
    async run(form, { manager }) {
      const { connection, queue, fields } = queueIn(form);
      const time = form.get('for') ?? undefined;
      const isNew = await manager.connection(connection).pause(queue, { for: time as Duration | undefined });
      const text = isNew
        ? `${queue} is paused${time === undefined ? '' : ` for ${time}`}: running jobs go on, waiting ones stay.`
        : `${queue} was already paused; the pause now ends as you have just said.`;
      return { text, undo: { action: 'resume-queue', fields, label: 'Resume' } };
    },
  },
  'resume-queue': {
    async run(form, { manager }) {
      const { connection, queue, fields } = queueIn(form);
      const wasPaused = await manager.connection(connection).resume(queue);
      if (!wasPaused) return { text: `${queue} was not paused.` };
      return { text: `${queue} is resumed.`, undo: { action: 'pause-queue', fields, label: 'Pause again' } };
    },
  },
  'limit-queue': {
    async ask(form, { manager }) {
      const { connection, queue } = queueIn(form);
      const limits = await manager.connection(connection).limits();
      const present = limits.find((each) => each.queue === queue)?.running;
      return {
        title: `Limit ${queue}?`,
        text: html`<p>Only so many of its jobs run at a time, over all workers. Those that run now go on.</p>`,
        fields: html`<p><label>At most; empty: any number <input type="number" name="running" min="1" value="${present}" /></label></p>`,
        button: 'Limit the queue',
      };
    },
    async run(form, { manager }) {
      const { connection, queue } = queueIn(form);
      const given = form.get('running') ?? '';
      const limit = given === '' ? undefined : { running: Number(given) };
      await manager.connection(connection).limit(queue, limit);
      return { text: limit === undefined ? `${queue} has no limit.` : `At most ${given} of ${queue} run at a time.` };
    },
  },
  'pause-lane': {
    async run(form, context) {
      const { lane, fields, store } = laneIn(form, context);
      await store.pause();
      const undo = { action: 'resume-lane', fields, label: 'Resume' };
      return { text: `The lane ${lane} is paused: it lets in no more jobs, and those that are in go on.`, undo };
    },
  },
  'resume-lane': {
    async run(form, context) {
      const { lane, fields, store } = laneIn(form, context);
      await store.resume();
      const undo = { action: 'pause-lane', fields, label: 'Pause again' };
      return { text: `The lane ${lane} is resumed.`, undo };
    },
  },
  'limit-lane': {
    async run(form, context) {
      const { lane, fields, store } = laneIn(form, context);
      const running = form.get('running') ?? '';
      await store.limit(running === '' ? undefined : Number(running));
      if (running === '') return { text: `The lane ${lane} lets in as many jobs as they say.` };
      const undo = { action: 'limit-lane', fields, label: 'As many as its jobs say' };
      return { text: `The lane ${lane} lets in ${running} at a time.`, undo };
    },
  },
  'run-schedule': {
    ask: (form) => ({
      title: `Run ${fieldOf(form, 'name')} now?`,
      text: html`<p>Its job is sent at once, in addition to those that the schedule sends.</p>`,
      button: 'Run it now',
    }),
    async run(form, { manager }) {
      const { name } = nameIn(form);
      const id = await manager.schedules.run(name);
      return {
        text: `The job of ${name} was sent.`,
        link: { address: address('search', { text: id }), label: 'Show it' },
      };
    },
  },
  'remove-schedule': {
    ask: (form) => ({
      title: `Remove ${fieldOf(form, 'name')}?`,
      text: html`<p>It sends nothing more. Jobs that it has already sent still run.</p>`,
      button: 'Remove it',
    }),
    async run(form, { manager }) {
      const { name } = nameIn(form);
      return { text: (await manager.schedules.remove(name)) ? `${name} is removed.` : `${name} was already removed.` };
    },
  },
  'pause-schedule': {
    async run(form, { manager }) {
      const { name, fields } = nameIn(form);
      const undo = { action: 'resume-schedule', fields, label: 'Resume' };
      const isNew = await manager.schedules.pause(name);
      return { text: isNew ? `${name} is paused: it sends nothing.` : `${name} was already paused.`, undo };
    },
  },
  'resume-schedule': {
    async run(form, { manager }) {
      const { name, fields } = nameIn(form);
      if (!(await manager.schedules.resume(name))) return { text: `${name} was not paused.` };
      const undo = { action: 'pause-schedule', fields, label: 'Pause again' };
      return { text: `${name} is resumed. Occurrences during the pause are not made up for.`, undo };
    },
  },
};

const laneIn = (form: URLSearchParams, { manager }: ActionContext) => {
  const { connection, queue, fields } = queueIn(form);
  const lane = fieldOf(form, 'lane');
  return { lane, fields: { ...fields, lane }, store: manager.connection(connection).lane(queue, lane) };
};

const nameIn = (form: URLSearchParams) => {
  const name = fieldOf(form, 'name');
  return { name, fields: { name } };
};
