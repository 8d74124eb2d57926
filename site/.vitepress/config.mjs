/** The site made of `docs`. Its navigation is the list of pages in `docs/index.md`, so a page is entered once. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const root = fileURLToPath(new URL('../..', import.meta.url));
const docs = join(root, 'docs');
const start = readFileSync(join(docs, 'index.md'), 'utf8');
const addressOf = (page) => `/${page.replace(/\.md$/, '')}`;

const groups = start
  .split(/^## /m)
  .slice(1)
  .map((group) => ({
    text: group.split('\n', 1)[0],
    items: [...group.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, text, page]) => ({
      text,
      link: addressOf(page),
    })),
  }))
  .filter(({ items }) => items.length > 0);
const decisions = readdirSync(join(docs, 'decisions')).map((file) => ({
  text: /^# (.*)$/m.exec(readFileSync(join(docs, 'decisions', file), 'utf8'))?.[1] ?? basename(file),
  link: addressOf(`decisions/${file}`),
}));

/** The anchors of GitHub: the same links work in both places. `test/docs/links.test.ts` holds them. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

/** Short code such as `--queue` stays on one line: a browser would break it after the hyphens, in narrow cells of tables. */
function withWholeCode(markdown) {
  markdown.core.ruler.push('whole-code', ({ tokens }) => {
    for (const { children } of tokens)
      for (const token of children ?? [])
        if (token.type === 'code_inline' && token.content.length <= 30) token.attrSet('style', 'white-space: nowrap');
  });
}

/** What is beside `docs` in the repository is not on the site: its name remains, without a link. */
function withoutOutsideLinks(markdown) {
  markdown.core.ruler.push('outside-links', ({ tokens }) => {
    for (const { children } of tokens) {
      let isOutside = false;
      for (const token of children ?? []) {
        if (token.type === 'link_open') isOutside = /^\.\.\/(?!\w+\.md)/.test(token.attrGet('href'));
        if (!isOutside || !token.type.startsWith('link_')) continue;
        token.tag = 'span';
        token.attrs = null;
      }
    }
  });
}

/** Decisions are for contributors: in the search they would come before what a user looks for. */
const textForSearch = (source, env, markdown) =>
  env.relativePath.startsWith('decisions/') ? '' : markdown.render(source, env);

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#3451b2"/><path d="M4 5h8M4 8h8M4 11h5" stroke="#fff" stroke-width="1.6"/></svg>';

/** Pages are outside of this folder, whose node_modules has Vue. */
const vueForPages = {
  name: 'vue-for-pages',
  enforce: 'pre',
  resolveId(source, importer, options) {
    if (!importer?.startsWith(docs) || !/^vue(?:\/|$)/.test(source)) return undefined;
    return this.resolve(source, fileURLToPath(import.meta.url), options);
  },
};

export default defineConfig({
  title: 'Onqueue',
  description:
    'A job framework for TypeScript: jobs are classes, dispatching is one line, and accepted work is not lost.',
  lang: 'en',
  srcDir: docs,
  outDir: join(root, 'build/site'),
  cacheDir: join(root, 'build/site-cache'),
  cleanUrls: true,
  vite: { plugins: [vueForPages] },
  // Browsers ask for /favicon.ico otherwise, which is not there.
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  markdown: {
    anchor: { slugify },
    config(markdown) {
      withoutOutsideLinks(markdown);
      withWholeCode(markdown);
    },
  },
  themeConfig: {
    search: { provider: 'local', options: { _render: textForSearch } },
    outline: [2, 3],
    nav: groups.map(({ text, items }) => ({ text, link: items[0].link })),
    sidebar: [
      ...groups.map((group) => ({ ...group, collapsed: false })),
      { text: 'Decisions', collapsed: true, items: decisions },
    ],
  },
});
