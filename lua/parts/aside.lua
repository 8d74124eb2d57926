-- aside.lua: texts that a reserve cannot hand out as they are.
--
--   after texts.lua, failed.lua

-- Makes an id that nobody else makes.
local function give_id(turn)
  turn.given = (turn.given or 0) + 1
  return format('%s-%.0f-%d', turn.client_id, turn.sequence, turn.given)
end

-- The text with one more attempt, and with an id if it had none. Nil: it is not a JSON object.
local function reserved_text(turn, text)
  local body_end, attempts, crashes, exceptions, timeouts, releases, fields = read_counters(text)
  if not body_end then return nil end
  local body = sub(text, 1, body_end)
  if not last_id(text, body_end) then
    fields = fields or fields_of(text)
    if not fields then return nil end
    if type(fields.id) ~= 'string' or fields.id == '' then body = join(body, '"id":"' .. give_id(turn) .. '"') end
  end
  return join(body, counters(attempts + 1, crashes, exceptions, timeouts, releases))
end

-- Sets aside a text that is not a JSON object: it goes to the failed jobs byte for byte, with the reason.
local function set_aside(turn, queue, place, text)
  -- The same words as in src/payload/counters.ts.
  local why = 'E_INVALID_PAYLOAD: The payload is not a JSON object that can be read; it was kept as it came. '
    .. 'docs/format.md says what a payload looks like.'
  local id, meta = give_id(turn), '{"name":"(unreadable)","exception":"' .. why .. '"}'
  check_failed(queue.failed, queue.failed_jobs)
  keep_failed(queue.failed, queue.failed_jobs, id, turn.moment, meta, text)
  turn.aside = turn.aside or {}
  local aside = turn.aside
  aside[#aside + 1], aside[#aside + 2], aside[#aside + 3] = place, id, why
end

-- Reserves equal texts of two jobs separately: the later one is given an id. `found` holds the texts from its second
-- place on.
local function tell_twins_apart(turn, queue, found, lease_end)
  local ours = {}
  for i = 2, #found do
    local text = found[i]
    if ours[text] or tonumber(call('ZSCORE', queue.reserved, text)) ~= tonumber(lease_end) then
      found[i] = with_id(text, give_id(turn))
      call('ZADD', queue.reserved, lease_end, found[i])
    end
    ours[found[i]] = true
  end
end
