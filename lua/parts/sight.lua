-- sight.lua: looks for a job by its id, as far as one call may look.
--
--   after texts.lua, search.lua, held.lua

-- Tests whether a text has this id. Nearly every text is skipped unparsed: it contains neither the id nor an escape
-- with which an encoder might have written it differently.
local function meant_by(id)
  local plain = find(id, '^[%w_-]+$')
  return function(text)
    return (find(text, id, 1, true) or (not plain and find(text, '\\', 1, true))) and id_of(text) == id
  end
end

local function sorted(key)
  return function(start, size) return call('ZRANGE', key, start, start + size - 1) end
end

local function head(ready)
  return function(start, size) return call('LRANGE', ready, start, start + size - 1) end
end

-- Ready jobs from the tail, the very last first, without the last `skipped` and the first `spared`.
local function tail(ready, skipped, spared)
  return function(start, size)
    local length = call('LLEN', ready)
    local last = length - skipped - start - 1
    local last_first = {}
    if last < spared then return last_first end
    local page = call('LRANGE', ready, math.max(last - size + 1, spared), last)
    for i = #page, 1, -1 do last_first[#last_first + 1] = page[i] end
    return last_first
  end
end

-- Where the job is ('reserved', 'delayed', 'head' or 'tail' of ready, or 'held' by its lane), its text, and the member
-- of a held one. Looks at the first 100 jobs or 1 MiB of text of each list, and at the last ones of ready. Nil: it was
-- not found. Then, if not everything was looked at, also returns how many of the last ready jobs were; or -1 if not all
-- delayed, reserved or held jobs were, followed by the number of the last ready jobs.
local function look_for(id, ready, delayed, reserved, held)
  local is_meant = meant_by(id)
  local running, reserved_seen = search(sorted(reserved), is_meant)
  if running then return 'reserved', running end
  local waiting, delayed_seen = search(sorted(delayed), is_meant)
  if waiting then return 'delayed', waiting end
  local first, head_seen = search(head(ready), is_meant)
  if first then return 'head', first end
  local last, tail_seen = search(tail(ready, 0, head_seen), is_meant)
  if last then return 'tail', last end
  local members = {}
  local kept_back, held_seen = search(held_of(held, ready, members), is_meant)
  if kept_back then return 'held', kept_back, members[kept_back] end
  local are_others_seen = reserved_seen == call('ZCARD', reserved) and delayed_seen == call('ZCARD', delayed)
    and held_seen == count_held(held, ready)
  if not are_others_seen then return nil, nil, -1, tail_seen end
  return nil, nil, head_seen + tail_seen < call('LLEN', ready) and tail_seen or nil
end

-- How many jobs a deeper look reads again: others may have been removed behind them meanwhile, which moves the rest
-- towards the tail.
local AGAIN = 10

-- Looks from the tail on. `from`: how many of the last of `length` texts were looked at before; `back_from`: a function
-- that reads pages before the last so many. Returns the text; or nil, and the number looked at by now, which is nil if
-- that is all.
local function look_back(id, from, length, back_from)
  local again, is_meant = math.min(AGAIN, from), meant_by(id)
  local found, looked = search(back_from(from - again), is_meant)
  -- Long texts that were looked at before may have been all that the call may read.
  if not found and looked <= again and again > 0 then
    again = 0
    found, looked = search(back_from(from), is_meant)
  end
  local seen = math.max(from - again + looked, from)
  return found, seen < length and seen or nil
end

-- A ready job further from the tail than `from`.
local function look_deeper(id, ready, from)
  return look_back(id, from, call('LLEN', ready), function(skipped) return tail(ready, skipped, 0) end)
end

-- Delayed jobs, the very last first.
local function sorted_back(key)
  return function(skipped)
    return function(start, size) return call('ZRANGE', key, skipped + start, skipped + start + size - 1, 'REV') end
  end
end
