/** Everything about one job. */
import { html } from '../html';
import { dataPart, resultPart } from '../job/data-part';
import { eventsOf } from '../job/events';
import { eventTable } from '../job/event-table';
import { readStory } from '../job/job-story';
import { batchOf, linksOf, linksPart } from '../job/links-part';
import { optionsPart } from '../job/options-part';
import { statePart } from '../job/state-part';
import { timeline } from '../job/timeline';
import type { Page, Part } from '../view';

export const job: Page = async (context) => {
  const { manager, query } = context;
  const story = await readStory(context, {
    connection: query.get('connection') ?? manager.defaultConnection,
    id: query.get('id')?.trim() ?? '',
    queue: query.get('queue') ?? undefined,
  });
  const { job: found, failure, otherFailures, result, run } = story;
  const now = manager.clock.now();
  const events = eventsOf(story, now);
  const links = linksOf(found);
  const parts: readonly { readonly id: string; readonly html: Part['html'] | undefined }[] = [
    { id: 'job-state', html: statePart(story, context) },
    {
      id: 'job-events',
      html: events.every(({ kind }) => kind === 'waits')
        ? undefined
        : html`${timeline(events)}${eventTable(story, events, now)}`,
    },
    { id: 'job-result', html: resultPart(result) },
    { id: 'job-links', html: linksPart(links, found, await batchOf(links, context), context) },
    { id: 'job-data', html: dataPart(found) },
    { id: 'job-options', html: optionsPart(found, manager.registry, now) },
  ];
  return {
    title: found.name ?? 'Job',
    parts: parts.filter((part): part is Part => part.html !== undefined),
    data: {
      ...found,
      exception: failure?.exception,
      otherFailures,
      result,
      runsOn: run && { id: run.worker.id, host: run.worker.host, pid: run.worker.pid, since: run.job.since },
      ...links,
    },
  };
};
