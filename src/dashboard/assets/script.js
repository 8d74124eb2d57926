/* The whole script of the dashboard. Without it all pages and actions work; with it, they stay up to date. */
(() => {
  'use strict';
  const main = document.getElementById('main');
  const button = document.getElementById('pause-updates');
  const state = document.getElementById('connection');

  // Moments in the zone of the viewer.
  const localise = (root) => {
    for (const time of root.querySelectorAll('time'))
      time.title = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
  };

  // Makes one element like another and keeps what the viewer has done: focus, selection, boxes, what is open.
  const keyOf = (node) => node.id || node.dataset?.key;
  const morph = (from, to) => {
    if (from.isEqualNode(to)) return;
    if (from.nodeType !== 1 || from.nodeName !== to.nodeName) {
      from.replaceWith(to);
      return;
    }
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(from.nodeName) && from.type !== 'hidden') return;
    for (const { name } of [...from.attributes])
      if (!to.hasAttribute(name) && name !== 'open') from.removeAttribute(name);
    for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    const keyed = new Map([...from.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
    let at = from.firstChild;
    for (const next of [...to.childNodes]) {
      const key = keyOf(next);
      const same = key ? keyed.get(key) : at && !keyOf(at) ? at : undefined;
      if (!same) {
        from.insertBefore(next, at);
        continue;
      }
      if (same === at) at = at.nextSibling;
      else from.insertBefore(same, at);
      morph(same, next);
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };

  let source;
  let isPaused = false;
  let wait = 1000;
  const close = () => {
    source?.close();
    source = undefined;
  };
  const open = () => {
    if (isPaused || document.hidden || source || !main?.dataset.live) return;
    source = new EventSource(location.href);
    source.addEventListener('open', () => {
      wait = 1000;
      state.textContent = '';
    });
    source.addEventListener('message', ({ data }) => {
      const box = document.createElement('template');
      box.innerHTML = JSON.parse(data);
      localise(box.content);
      for (const part of [...box.content.children]) {
        const shown = document.getElementById(part.id);
        if (shown) morph(shown, part);
        else main.append(part);
      }
    });
    source.addEventListener('error', () => {
      close();
      if (wait > 1000) state.textContent = 'Updates have stopped: the dashboard cannot be reached. It is asked again.';
      setTimeout(open, (wait = Math.min(wait * 2, 30000)));
    });
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  addEventListener('pagehide', close);
  button?.addEventListener('click', () => {
    isPaused = !isPaused;
    button.setAttribute('aria-pressed', isPaused);
    if (isPaused) close();
    else open();
  });

  document.addEventListener('change', ({ target }) => {
    if (target.matches('[data-all]'))
      for (const box of target.closest('table').querySelectorAll('tbody input[type=checkbox]'))
        box.checked = target.checked;
  });
  document.addEventListener('click', ({ target }) => {
    const copy = target.closest('[data-copy]');
    if (!copy) return;
    const text = copy.dataset.copy || document.getElementById(copy.dataset.of)?.textContent;
    void navigator.clipboard?.writeText(text).then(() => {
      copy.dataset.done = '';
      setTimeout(() => delete copy.dataset.done, 1500);
    });
  });

  if (main?.dataset.live && button) button.hidden = false;
  localise(document);
  open();
})();
