-- tied.lua: unique keys of the jobs that an exchange moves.
--
--   after texts.lua, ties.lua

-- Jobs that are handed out: those that hold their keys until their start leave them. Refused, they do so at their end.
local function start_tied(turn, found)
  for i = 2, #found do
    local tie = tie_of(found[i])
    if tie and tie.until_start then leave(turn.unique, tie) end
  end
end

-- A job that has not been started after all takes such a key again, if it is free.
local function retake(turn, tie)
  if not tie or not tie.until_start then return end
  local told, holder = pcall(holder_of, turn.unique, tie.key, turn.moment)
  if not told or holder then return end
  redis.pcall('HSET', turn.unique, tie.key, held_by(tie, turn.moment))
  turn.ties = true
end

-- The same of a job that was released: only where that cost it no try.
local function retake_released(turn, token, text)
  local tie = tie_of(text)
  if tie and select(6, read_counters(text)) > select(6, read_counters(token)) then retake(turn, tie) end
end
