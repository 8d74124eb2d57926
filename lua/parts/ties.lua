-- ties.lua: reads the unique or debounce key and the batch from the text of a job.
--
--   after texts.lua, unique.lua
--
--   `src/payload/ties.ts` says where they are, and reads them where time matters: for jobs that a worker pushes and
--   settles.

local TIES, TIES_WINDOW, KEY_LENGTH = ',"ties":"', 512, 22

-- The ties of a job, and its id. Nil: it has none.
local function ties_in(text)
  if not find(text, TIES, -TIES_WINDOW - WINDOW, true) then return nil end
  local body_end = read_counters(text)
  if not body_end then return nil end
  local tail = sub(text, math.max(body_end - TIES_WINDOW + 1, 1), body_end)
  local id_start, _, id = find(tail, ',"id":"([^"\\]+)"$')
  if not id_start then return nil end
  local before = string.gsub(sub(tail, 1, id_start - 1), ',"fenceAtRetry":%d+$', '')
  return select(3, find(before, ',"ties":"([^"]*)"$')), id
end

-- The key, the tie as a client would pass it (see unique.lua), and what frees the key: 'e' the end of the job, 's' its
-- start, 'd' its moment. Nil: it has none.
local function tie_in(ties, id)
  if not ties then return nil end
  local _, _, ending, key, most = find(ties .. ' ', '^u([es])([%w_-]+):?(%d*) ')
  if not key then _, _, ending, key, most = find(ties .. ' ', '^(d)([%w_-]+):?(%d*) ') end
  if not key or #key ~= KEY_LENGTH then return nil end
  return { key = key, tie = (most == '' and '0' or most) .. ' ' .. id, ending = ending }
end

local function tie_of(text)
  return tie_in(ties_in(text))
end

-- The id of its batch, and its weight. Nil: it belongs to no batch.
local function batch_among(ties)
  local _, _, id, weight = find(' ' .. (ties or '') .. ' ', ' b([%w_-]+)%*(%d+) ')
  return id, tonumber(weight)
end

local function batch_in(text)
  return batch_among((ties_in(text)))
end

-- Frees the keys that these jobs have; with `at_start`, only keys that no running job holds.
local function leave_all(unique, texts, at_start)
  local keys, ties = {}, {}
  for _, text in ipairs(texts) do
    local found = tie_of(text)
    if found and (found.ending ~= 'e' or not at_start) then
      keys[#keys + 1], ties[#ties + 1] = found.key, found.tie
    end
  end
  leave(unique, keys, ties)
end
