-- tied.lua: takes unique keys again: of jobs that hold them until their start, but were not started after all; and of
--   jobs that gave them up because nobody knew the job.
--
--   after texts.lua, unique.lua, ties.lua

-- Takes the key again if it is free.
local function take_if_free(turn, found)
  local kept = redis.pcall('HGET', turn.unique, found.key)
  if type(kept) == 'table' or holder_of(kept, turn.moment) then return end
  redis.pcall('HSET', turn.unique, found.key, kept_of(found.tie, turn.moment))
end

local function retake(turn, text)
  local found = tie_of(text)
  if found and found.ending == 's' then take_if_free(turn, found) end
end

-- For jobs that are handed out and were given back before: a key that they hold until their end, for no limited time.
local function take_given_up(turn, texts)
  for i = 2, #texts do
    local found = tie_of(texts[i])
    local is_meant = found and found.ending == 'e' and sub(found.tie, 1, 2) == '0 '
    if is_meant and select(6, read_counters(texts[i])) > 0 then take_if_free(turn, found) end
  end
end

-- The same for a released job that may have ties, only if the release cost no try.
local function retake_released(turn, token, text)
  if select(6, read_counters(text)) > select(6, read_counters(token)) then retake(turn, text) end
end
