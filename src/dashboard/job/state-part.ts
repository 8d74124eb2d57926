/** The state of a job, with buttons to change it, and its facts. */
import type { Milliseconds } from '../../base/clock';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { actionForm } from '../parts/action-form';
import { errorLine } from '../parts/excerpt';
import { moment } from '../parts/time';
import type { PageContext } from '../view';
import type { JobStory, ShownFailure } from './job-story';
import { adviceFor, attemptsCount, stateOf, stateText } from './state-text';

const TONES: Readonly<Record<string, string>> = { failed: 'bad', running: 'accent', completed: 'good' };

export function statePart(story: JobStory, context: PageContext): Html {
  const now = context.manager.clock.now();
  const state = stateOf(story);
  return html`<p class="state">
      <span class="badge ${TONES[state] ?? ''}">${state}</span> ${stateText(story, now)}
    </p>
    ${progressOf(story, now)}
    <div class="advice">${adviceFor(story, context)}</div>
    ${buttons(story, context)}${facts(story, now)}${otherFailures(story, context, now)}`;
}

function progressOf({ job: { progress, state } }: JobStory, now: Milliseconds): Html | undefined {
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
  if (state === 'failed') return html`<div class="choice">${failureButtons(fields, context)}</div>`;
  if (state !== 'ready' && state !== 'delayed' && state !== 'running') return undefined;
  if (context.manager.driver(connection).control === undefined) return undefined;
  return html`<div class="choice">
    ${isPaused && queue !== undefined && actionForm({ action: 'resume-queue', label: 'Resume the queue', fields: { connection, queue } }, context)}
    ${actionForm({ action: 'cancel-job', label: 'Cancel', isDangerous: true, fields }, context)}
  </div>`;
}

function failureButtons(
  fields: Readonly<Record<string, string | undefined>>,
  context: PageContext,
): readonly (Html | undefined)[] {
  return [
    actionForm({ action: 'retry-job', label: 'Retry', fields }, context),
    actionForm({ action: 'forget-job', label: 'Forget', isDangerous: true, fields }, context),
  ];
}

function facts({ job }: JobStory, now: Milliseconds): Html {
  const { id, connection, queue, createdAt, attempts } = job;
  return html`<dl class="facts">
    <div><dt>Id</dt><dd><span class="mono"><bdi>${id}</bdi></span> <button type="button" class="quiet" data-copy="${id}" aria-label="Copy the id">Copy</button></dd></div>
    ${queue !== undefined && html`<div><dt>Queue</dt><dd><a href="${address('queue', { connection, queue })}"><bdi>${queue}</bdi></a></dd></div>`}
    <div><dt>Connection</dt><dd><bdi>${connection}</bdi></dd></div>
    ${createdAt && html`<div><dt>Dispatched</dt><dd>${moment(createdAt, now)}</dd></div>`}
    ${attempts !== undefined && attempts > 0 && html`<div><dt>Attempts</dt><dd>${attemptsCount(job)}</dd></div>`}
  </dl>`;
}

function otherFailures(
  { otherFailures: others, job: { state } }: JobStory,
  context: PageContext,
  now: Milliseconds,
): Html | undefined {
  if (others.length === 0) return undefined;
  return html`<table>
    <caption>
      ${state === 'failed' ? 'It also failed elsewhere' : 'Failed jobs with this id'}
    </caption>
    <thead>
      <tr>
        <th scope="col">Queue</th>
        <th scope="col">Connection</th>
        <th scope="col">When</th>
        <th scope="col">Error</th>
        <th scope="col"><span class="unseen">Actions</span></th>
      </tr>
    </thead>
    <tbody>
      ${others.map((failure) => otherRow(failure, context, now))}
    </tbody>
  </table>`;
}

function otherRow(
  { id = '', connection, queue, failedAt, error }: ShownFailure,
  context: PageContext,
  now: Milliseconds,
): Html {
  const fields = { connection, id, queue };
  return html`<tr data-key="${JSON.stringify([connection, queue, failedAt])}">
    <th scope="row"><a href="${address('job', fields)}"><bdi>${queue}</bdi></a></th>
    <td><bdi>${connection}</bdi></td>
    <td>${failedAt && moment(failedAt, now)}</td>
    <td><bdi>${errorLine(error ?? '')}</bdi></td>
    <td class="actions">${failureButtons(fields, context)}</td>
  </tr>`;
}
