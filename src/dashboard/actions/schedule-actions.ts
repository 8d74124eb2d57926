/** What can be done with a schedule. */
import { address } from '../addresses';
import { html } from '../html';
import type { Action } from './actions';
import { fieldOf } from './form-fields';

const nameIn = (form: URLSearchParams) => {
  const name = fieldOf(form, 'name');
  return { name, fields: { name } };
};

export const runSchedule: Action = {
  async ask(form) {
    const { name } = nameIn(form);
    return {
      title: `Run ${name} now?`,
      text: html`<p>Its job is sent at once, in addition to those that the schedule sends.</p>`,
      button: 'Run it now',
    };
  },
  async run(form, { manager }) {
    const { name } = nameIn(form);
    const id = await manager.schedules.run(name);
    return {
      text: `The job of ${name} was sent.`,
      link: { address: address('search', { text: id }), label: 'Show it' },
    };
  },
};

export const pauseSchedule: Action = {
  async run(form, { manager }) {
    const { name, fields } = nameIn(form);
    const undo = { action: 'resume-schedule', fields, label: 'Resume' };
    const isNew = await manager.schedules.pause(name);
    return { text: isNew ? `${name} is paused: it sends nothing.` : `${name} was already paused.`, undo };
  },
};

export const resumeSchedule: Action = {
  async run(form, { manager }) {
    const { name, fields } = nameIn(form);
    if (!(await manager.schedules.resume(name))) return { text: `${name} was not paused.` };
    const undo = { action: 'pause-schedule', fields, label: 'Pause again' };
    return { text: `${name} is resumed. Occurrences during the pause are not made up for.`, undo };
  },
};
