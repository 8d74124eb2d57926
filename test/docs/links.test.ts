/** The links between the pages of the documentation, and the pages that error messages name. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from '../support/project';

const filesIn = (folder: string, end: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(end))
    .map((file) => join(folder, file));

const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...filesIn('docs', '.md')];
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** What GitHub makes of a heading; `site` does the same. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

const anchorsIn = (page: string): string[] =>
  [
    ...read(page)
      .replaceAll(/^```[^]*?^```$/gm, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = '']) => anchorOf(heading));

function leadsNowhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#', 2);
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(join(root, target))) return true;
  return anchor !== undefined && target.endsWith('.md') && !anchorsIn(target).includes(anchor);
}

describe('the links of the documentation', () => {
  it.each(pages)('of %s lead to files and headings that are there', (page) => {
    const links = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    const inside = links.filter((link) => !/^\w+:/.test(link));

    expect(inside.filter((link) => leadsNowhere(page, link))).toEqual([]);
  });

  it('lead to no page beside docs, which the site does not have', () => {
    const beside = filesIn('docs', '.md').flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)\s#]+\.md)/g)]
        .map(([, link = '']) => join(dirname(page), link))
        .filter((target) => !target.startsWith('docs/') && dirname(target) === '.')
        .map((target) => `${page}: ${target}`),
    );

    expect(beside).toEqual([]);
  });

  it('stand in no heading twice, because only the first could be reached', () => {
    const twice = pages
      .filter((page) => page !== 'CHANGELOG.md')
      .flatMap((page) =>
        anchorsIn(page).flatMap((anchor, index, all) => (all.indexOf(anchor) < index ? [`${page}#${anchor}`] : [])),
      );

    expect(twice).toEqual([]);
  });

  it('reach every page from the list on the start page, which is the navigation of the site', () => {
    const linked = [...read('docs/index.md').matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm)].map(
      ([, page = '']) => `docs/${page}`,
    );
    const guide = filesIn('docs', '.md').filter((page) => dirname(page) === 'docs' && page !== 'docs/index.md');

    expect(linked.toSorted()).toEqual(guide.toSorted());
  });

  it.each([
    ['rate limit', 'limits.md'],
    ['cron', 'schedules.md'],
    ['delay', 'dispatching.md'],
    ['dead letter', 'failed-jobs.md'],
    ['concurrency', 'workers.md'],
    ['priority', 'workers.md'],
    ['graceful shutdown', 'workers.md'],
    ['idempotent', 'workers.md'],
    ['retry', 'failed-jobs.md'],
    ['Lambda', 'serverless.md'],
  ])('find %s in %s by the words that others use, because the search of the site knows no synonyms', (words, page) => {
    expect(read(join('docs', page)).toLowerCase()).toContain(words.toLowerCase());
  });

  it('are right in messages and comments of the source', () => {
    const named = filesIn('src', '.ts').flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => `${relative('src', file)}: ${page}`),
    );

    expect(named.filter((line) => !existsSync(join(root, line.split(': ')[1] ?? '')))).toEqual([]);
  });
});
