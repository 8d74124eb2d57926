import { Job } from '../../src/job/job';
import { elapse, testApplication } from '../support/application';
import { served } from './kit/served';

@Job()
class Report extends Job {
  handle(): void {}
}

function given() {
  const app = testApplication();
  app.manager
    .schedule(() => new Report())
    .cron('0 3 * * *')
    .timezone('Europe/Amsterdam')
    .name('nightly');
  return app;
}

const cookieOf = ({ headers }: { readonly headers: Headers }) => ({
  cookie: headers.getSetCookie()[0]!.split(';', 1)[0]!,
});

describe('the schedules page', () => {
  it('shows when each schedule is due, and that no worker keeps it', async () => {
    await using panel = await served(given().manager);

    const { text } = await panel.get('schedules');

    expect(text).toContain('0 3 * * * (Europe/Amsterdam)');
    expect(text).toMatch(/<details>\s*<summary><time.*(<li>\s*\d{4}-\d\d-\d\d 03:00.*){5}/s);
    expect(text).toContain('not active');
    expect(await panel.json('schedules')).toMatchObject([
      { name: 'nightly', isKept: false, occurrences: { length: 5 } },
    ]);
  });

  it('shows that a worker keeps a schedule', async () => {
    const { manager, clock } = given();
    const stop = manager.schedules.keep();
    await elapse(clock, 2);
    await using panel = await served(manager);

    expect((await panel.get('schedules')).text).toContain('>active<');

    await stop();
  });

  it('pauses and resumes a schedule, with a button to undo', async () => {
    const { manager } = given();
    await using panel = await served(manager);

    const paused = await panel.post('pause-schedule', { name: 'nightly', back: 'schedules' });
    const page = await panel.get('schedules', cookieOf(paused));

    expect(page.text).toMatch(/nightly is paused.*<form method="post" action="resume-schedule"/s);
    expect(page.text).toContain('>paused<');
    await panel.post('resume-schedule', { name: 'nightly', back: 'schedules' });
    expect((await manager.schedules.list())[0]).toMatchObject({ pausedAt: undefined });
  });

  it('runs a schedule after a confirmation, and links to its job', async () => {
    const { manager } = given();
    await using panel = await served(manager);

    const asked = await panel.post('run-schedule', { name: 'nightly', back: 'schedules' });
    expect([asked.status, await manager.connection().size()]).toEqual([200, 0]);
    expect(asked.text).toMatch(/<input type="hidden" name="name" value="nightly"/);

    const run = await panel.post('run-schedule', { name: 'nightly', back: 'schedules', confirmed: 'yes' });
    const [{ id } = { id: '' }] = (await manager.connection().jobs()).jobs;
    expect((await panel.get('schedules', cookieOf(run))).text).toContain(`href="search?text=${id}"`);
  });

  it('removes a stored schedule after a confirmation, and offers that for no other', async () => {
    const { manager } = given();
    await manager.schedules.put('report:42', { cron: '0 8 * * *' }, new Report());
    await using panel = await served(manager);

    const { text } = await panel.get('schedules');
    expect(text.match(/action="remove-schedule"/g)).toHaveLength(1);
    const asked = await panel.post('remove-schedule', { name: 'report:42', back: 'schedules' });
    expect(asked.text).toContain('Remove report:42?');
    await panel.post('remove-schedule', { name: 'report:42', back: 'schedules', confirmed: 'yes' });

    expect((await manager.schedules.list()).map(({ name }) => name)).toEqual(['nightly']);
  });

  it('says what is wrong with a command that cannot be carried out', async () => {
    const { manager, log } = given();
    await using panel = await served(manager);

    const refused = await panel.post('pause-schedule', { name: 'nightyl', back: 'schedules' });

    expect((await panel.get('schedules', cookieOf(refused))).text).toContain('E_UNKNOWN_SCHEDULE');
    expect(log.messages('info')).toEqual([expect.stringContaining('Dashboard, Ada: failed: ')]);
  });

  it('says how to declare a schedule if there is none', async () => {
    await using panel = await served(testApplication().manager);

    expect((await panel.get('schedules')).text).toContain('@Job({ schedule: ');
  });
});

it('the page of the schedules shows a declaration that compiles if there are none', async () => {
  await using panel = await served(testApplication().manager);

  expect((await panel.get('schedules')).text).toContain("@Job({ schedule: { cron: '0 3 * * *' } })");
});
