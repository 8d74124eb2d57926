/** The state of a job, with buttons to change it, and its facts. */
import { html, type Html } from '../html';
import { actionForm, failureButtons } from '../parts/action-form';
import { errorLine } from '../parts/excerpt';
import { factList, idFact } from '../parts/facts';
import { jobLink, queueLink } from '../parts/links';
import { ACTIONS, table } from '../parts/table';
import { moment } from '../parts/time';
import type { PageContext } from '../view';
import type { JobStory, ShownFailure } from './job-story';
import { adviceFor, attemptsCount, stateOf, stateText } from './state-text';

const TONES: Readonly<Record<string, string>> = { failed: 'bad', running: 'accent', completed: 'good' };

export function statePart(story: JobStory, context: PageContext): Html {
  const state = stateOf(story);
  return html`<p class="state">
      <span class="badge ${TONES[state] ?? ''}">${state}</span> ${stateText(story, context)}
    </p>
    ${progressOf(story, context)}
    <div class="advice">${adviceFor(story, context)}</div>
    ${buttons(story, context)}${facts(story, context)}${otherFailures(story, context)}`;
}

function progressOf({ job: { progress, state } }: JobStory, { now }: PageContext): Html | undefined {
  if (progress === undefined || state === 'completed') return undefined;
  const { value, text, at } = progress;
  return html`<p class="progress">
    <progress max="1" value="${value}" aria-label="Progress">${Math.floor(value * 100)} %</progress> ${Math.floor(value * 100)} %
    ${text !== undefined && html`<bdi>${text}</bdi>`} <span class="soft">${moment(at, now)}</span>
  </p>`;
}

function buttons({ job, isPaused }: JobStory, context: PageContext): Html | undefined {
  const { id, connection, queue, state } = job;
  const fields = { connection, id, queue };
  if (state === 'failed') return html`<div class="choice">${failureButtons('job', { fields }, context)}</div>`;
  if (state !== 'ready' && state !== 'delayed' && state !== 'running') return undefined;
  if (context.manager.driver(connection).control === undefined) return undefined;
  return html`<div class="choice">
    ${isPaused && queue !== undefined && actionForm({ action: 'resume-queue', label: 'Resume the queue', fields: { connection, queue } }, context)}
    ${actionForm({ action: 'cancel-job', label: 'Cancel', isDangerous: true, fields }, context)}
  </div>`;
}

function facts({ job }: JobStory, { now }: PageContext): Html | undefined {
  const { id, connection, queue, createdAt, attempts = 0 } = job;
  return factList([
    idFact(id),
    ['Queue', queue !== undefined && queueLink({ connection, queue })],
    ['Connection', html`<bdi>${connection}</bdi>`],
    ['Dispatched', createdAt && moment(createdAt, now)],
    ['Attempts', attempts > 0 && attemptsCount(job)],
  ]);
}

function otherFailures({ otherFailures: others, job: { state } }: JobStory, context: PageContext): Html | undefined {
  if (others.length === 0) return undefined;
  return table({
    caption: state === 'failed' ? 'It also failed elsewhere' : 'Failed jobs with this id',
    columns: ['Queue', 'Connection', 'When', 'Error', ACTIONS],
    rows: others.map((failure) => otherRow(failure, context)),
  });
}

function otherRow(failure: ShownFailure, context: PageContext): Html {
  const { id = '', connection, queue, failedAt, error } = failure;
  const fields = { connection, id, queue };
  return html`<tr data-key="${JSON.stringify([connection, queue, failedAt])}">
    <th scope="row">${jobLink(failure, html`<bdi>${queue}</bdi>`)}</th>
    <td><bdi>${connection}</bdi></td>
    <td>${failedAt && moment(failedAt, context.now)}</td>
    <td><bdi>${errorLine(error ?? '')}</bdi></td>
    <td class="actions">${failureButtons('job', { fields }, context)}</td>
  </tr>`;
}
