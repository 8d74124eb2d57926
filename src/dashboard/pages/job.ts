/** Everything about one job. */
import type { FoundJob } from '../../operations/found-job';
import { address } from '../addresses';
import { html } from '../html';
import { dataPart, resultPart } from '../job/data';
import { eventsOf, eventTable, timeline } from '../job/events';
import { linksOf, linksPart } from '../job/links';
import { optionsPart } from '../job/options';
import { linesPart, statePart, stepsPart } from '../job/state';
import { readStory } from '../job/story';
import type { Page, View } from '../view';

/** Its queue and its class. */
function trailOf({ connection, queue, name }: FoundJob): View['trail'] {
  return [
    ['Jobs', address('job-classes')],
    ...(queue === undefined ? [] : [[queue, address('queue', { connection, queue })] as const]),
    ...(name === undefined ? [] : [[name, address('job-class', { connection, name })] as const]),
  ];
}

export const job: Page = async (context) => {
  const story = await readStory(context);
  const { job: found, failure, otherFailures, result, run, fullness } = story;
  const events = eventsOf(story, context.now);
  const links = linksOf(found);
  const hasRun = events.some(({ kind }) => kind !== 'waits');
  return {
    title: found.name ?? 'Job',
    trail: trailOf(found),
    parts: {
      'job-state': statePart(story, context),
      'job-steps': stepsPart(found, context),
      'job-lines': linesPart(found, context),
      'job-events': hasRun ? html`${timeline(events)}${eventTable(story, events, context)}` : undefined,
      'job-result': resultPart(result),
      'job-links': await linksPart(links, found, context),
      'job-data': dataPart(found),
      'job-options': optionsPart(found, context),
    },
    data: {
      ...found,
      exception: failure?.exception,
      otherFailures,
      fullness,
      result,
      runsOn: run && {
        id: run.worker.id,
        name: run.worker.name,
        host: run.worker.host,
        pid: run.worker.pid,
        since: run.job.since,
      },
      ...links,
    },
  };
};
