/** The document around each page. */
import { assetAddress } from './assets';
import { html, type Html } from './html';

/** @param head what only some pages have in their head */
export function htmlDocument(title: string, body: Html, head?: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} – Onqueue</title>
        <link rel="icon" href="${assetAddress('icon.svg')}" />
        <link rel="stylesheet" href="${assetAddress('style.css')}" />
        ${head}
      </head>
      ${body}
    </html> `;
}

/** A page without navigation: a question, or the sign-in form. */
export function barePage(title: string, content: Html): Html {
  return htmlDocument(
    title,
    html`<body class="bare">
      <main id="main">
        <h1>${title}</h1>
        ${content}
      </main>
    </body>`,
  );
}
